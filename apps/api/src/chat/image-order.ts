import { AppError } from '#contract/app-error.js';
import { carriesImage, imageIn, type FoundImage } from '#contract/image-shapes.js';
import { LongText, type Text } from '#contract/long-text.js';
import type { ScannedBody } from '../common/fastify/json-body.js';
import { markdownImages, splitMarkdown } from './markdown-images.js';

/** Bytes of one message besides its long texts, and of all messages that are read. */
const MAX_MESSAGE_BYTES = 1_048_576;
const MAX_READ_BYTES = 4 * MAX_MESSAGE_BYTES;
/** Characters of a prompt that are read: more than it may have. */
const MAX_TEXT = 131_072;
/** Types of parts that may be images; others, such as `input_audio` and `document`, never are. */
const IMAGE_PART = /image|picture|photo|^(?:input_)?file$|^media$|^resource(?:_link)?$|^blob$/i;
const TEXT_PART = /^(?:input_|output_)?text$/;
/** Members of a message that are read by name, or say nothing about the image. */
const OTHER_MEMBERS = new Set(['role', 'content', 'parts', 'name', 'id']);

type Members = Readonly<Record<string, unknown>>;

/** The image order in a chat: the user's last message, with the images that it is about. */
export interface ImageOrder {
  readonly prompt: string;
  readonly references: readonly Text[];
}

/**
 * Reads the user's last message: its text is the prompt, its images are the references. If it has none, they are those
 * of the latest earlier message with images, the model's own among them, because chat clients edit an image by talking
 * on. Throws AppError for a part that is neither text nor a usable image, and when there is no text.
 */
export function readOrder(body: ScannedBody): ImageOrder {
  const { items, itemCount } = body.scan;
  const first = itemCount - items.length;
  let budget = MAX_READ_BYTES;
  let order: ImageOrder | undefined;
  for (let at = items.length - 1; at >= 0; at--) {
    const message = messageAt(body, at, Math.min(budget, MAX_MESSAGE_BYTES), order !== undefined);
    if (message === undefined) break;
    budget -= message.bytes;
    const place = `messages[${first + at}]`;
    if (order === undefined) {
      if (message.value['role'] !== 'user') continue;
      order = lastMessage(message.value, place);
      if (order.references.length > 0) return order;
    } else {
      const references = earlierImages(message.value, place);
      if (references.length > 0) return { ...order, references };
    }
  }
  if (order === undefined) throw noPrompt();
  return order;
}

interface ReadMessage {
  readonly value: Members;
  readonly bytes: number;
}

/** Undefined for an earlier message that would take too long to read. */
function messageAt(body: ScannedBody, at: number, rest: number, isEarlier: boolean): ReadMessage | undefined {
  const span = body.scan.items[at] ?? { start: 0, end: 0 };
  try {
    const value = body.valueAt(span, rest);
    const bytes = Math.min(span.end - span.start, rest);
    return { value: isMembers(value) ? value : {}, bytes };
  } catch (error) {
    if (isEarlier && error instanceof AppError && error.code === 'request_too_large') return undefined;
    throw error;
  }
}

function lastMessage(message: Members, place: string): ImageOrder {
  const references: Text[] = [];
  const texts: string[] = [];
  let length = 0;
  const addText = (text: Text, param: string): void => {
    const { text: rest, images } = splitMarkdown(text, MAX_TEXT);
    if (/data:image\/[\w.+-]+;base64,/i.test(rest)) {
      const what = `${param} has an image's data in its text: send it as a part of the type image_url`;
      throw new AppError('invalid_value', what, { param });
    }
    references.push(...images);
    length += rest.length;
    if (length <= 2 * MAX_TEXT) texts.push(rest);
  };
  for (const { part, param } of partsOf(message, place)) {
    if (isText(part)) addText(part, param);
    else readPart(part, param, { addText, addImage: (found) => references.push(referenceOf(found, param)) });
  }
  for (const { value, param } of attachmentsOf(message, place)) references.push(referenceOf(imageIn(value), param));
  const prompt = texts.join('\n');
  if (prompt.trim() === '') throw noPrompt();
  return { prompt, references };
}

interface PartReader {
  readonly addText: (text: Text, param: string) => void;
  readonly addImage: (found: FoundImage) => void;
}

function readPart(part: unknown, param: string, { addText, addImage }: PartReader): void {
  if (!isMembers(part)) throw new AppError('invalid_type', `${param} must be a text or an object`, { param });
  const type = typeof part['type'] === 'string' ? part['type'] : undefined;
  const text = textOf(part);
  if (type === undefined ? text !== undefined : TEXT_PART.test(type)) {
    if (text === undefined) throw new AppError('invalid_type', `${param}.text must be a string`, { param });
    const others = Object.entries(part).filter(([name]) => !['type', 'text', 'content'].includes(name));
    if (others.some(([name, value]) => carriesImage(name, value))) throw unsupported(param, 'An image beside a text');
    addText(text, param);
    return;
  }
  const found = type === undefined || IMAGE_PART.test(type) ? imageIn(part) : undefined;
  if (found === undefined)
    throw unsupported(param, type === undefined ? 'A part without a type' : `A part of the type ${type.slice(0, 64)}`);
  addImage(found);
}

/** Throws AppError for an image that can't be used. */
function referenceOf(found: FoundImage | undefined, param: string): Text {
  if (found === undefined) throw unsupported(param, 'An image in this form');
  if ('reference' in found) return found.reference;
  const { code, message, at = '' } = found.problem;
  throw new AppError(code, `${param}${at}: ${message}`, { param: param + at });
}

/** Images of an earlier message; its other parts don't matter any more. */
function earlierImages(message: Members, place: string): Text[] {
  if (message['role'] !== 'user' && message['role'] !== 'assistant') return [];
  const found: Text[] = [];
  const addText = (text: Text): void => void found.push(...markdownImages(text, message['role'] === 'assistant'));
  for (const { part, param } of partsOf(message, place)) {
    if (isText(part)) addText(part);
    else if (isMembers(part)) {
      const text = textOf(part);
      const type = typeof part['type'] === 'string' ? part['type'] : undefined;
      if (text !== undefined) addText(text);
      else if ((type === undefined || IMAGE_PART.test(type)) && carriesImage('image', part)) {
        const image = imageIn(part);
        if (image !== undefined && !isOtherFile(image)) found.push(referenceOf(image, param));
      }
    }
  }
  for (const { value, param } of attachmentsOf(message, place)) {
    const image = imageIn(value);
    if (image !== undefined && !isOtherFile(image)) found.push(referenceOf(image, param));
  }
  // An answer links its image in its text and in `images`.
  return found.filter((one, at) => typeof one !== 'string' || found.indexOf(one) === at);
}

/** Whether it is no image at all, but a document, say; of an image that can't be used, the member is known. */
function isOtherFile(found: FoundImage): boolean {
  return 'problem' in found && !found.problem.at;
}

/** The parts of a message, in the forms of OpenAI (`content`) and Gemini (`parts`), with their names. */
function partsOf(message: Members, place: string): { part: unknown; param: string }[] {
  const { content, parts } = message;
  const listed = (list: unknown, name: string): { part: unknown; param: string }[] => {
    if (list === undefined || list === null) return [];
    if (!Array.isArray(list)) return [{ part: list, param: `${place}.${name}` }];
    return list
      .map((part: unknown, at) => ({ part, param: `${place}.${name}[${at}]` }))
      .filter(({ part }) => part !== null);
  };
  const own = listed(content, 'content');
  const others = listed(parts, 'parts');
  // The AI SDK's messages of a page repeat their text in `parts`.
  return own.length === 0
    ? others
    : [...own, ...others.filter(({ part }) => !isMembers(part) || textOf(part) === undefined)];
}

/** Images beside the content, in members such as `images` (Ollama) and `experimental_attachments` (AI SDK). */
function attachmentsOf(message: Members, place: string): { value: unknown; param: string }[] {
  return Object.entries(message)
    .filter(([name, value]) => !OTHER_MEMBERS.has(name) && carriesImage(name, value))
    .flatMap(([name, value]) =>
      Array.isArray(value)
        ? value.map((item: unknown, at) => ({ value: item, param: `${place}.${name}[${at}]` }))
        : [{ value, param: `${place}.${name}` }],
    );
}

/** The text of a text part: a string, or `{value}` as in OpenAI's threads. */
function textOf({ type, text, content }: Members): Text | undefined {
  const said = text ?? (type === 'text' ? content : undefined);
  const value = isMembers(said) ? said['value'] : said;
  return isText(value) ? value : undefined;
}

function isText(value: unknown): value is Text {
  return typeof value === 'string' || value instanceof LongText;
}

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof LongText);
}

function noPrompt(): AppError {
  return new AppError('invalid_value', 'messages must end with a user message that describes the image', {
    param: 'messages',
  });
}

function unsupported(param: string, what: string): AppError {
  return new AppError('unsupported_parameter', `${what} can't be used for an image: send texts and images.`, { param });
}
