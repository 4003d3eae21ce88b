import type { FieldProblem } from './field-rule.js';
import { LongText, startOf, type Text } from './long-text.js';

/** Base64 of the first bytes of PNG, JPEG, WebP (RIFF), GIF, and AVIF or HEIC; JSON may escape a slash. */
const IMAGE_BASE64 = /^(?:iVBORw0KGgo|(?:\\?\/|_)9j(?:\\?\/|_)|UklGR|R0lGOD|AAAA[\w+/-]{2}Z0eX)/;
/** Start of a text that is an image: any data URI, or base64 without one. */
export const IMAGE_TEXT = new RegExp(`^\\s*data:|${IMAGE_BASE64.source}`, 'i');

const DATA_URI = /^\s*data:(?:[\w.+-]+\/[\w.+-]+)?\s*(?:;[^,]*)?,/i;
/** Characters in which the start of a data URI, or a file name's end, is looked for. */
const MAX_START = 512;
const WEB_ADDRESS = /^\s*https?:\/\//i;
const IMAGE_FILE = /^\s*(?:https?|gs|s3|ftp|file):\/\/[^?#]*\.(?:png|jpe?g|webp|gif|avif|hei[cf]|bmp|tiff?)(?:[?#]|$)/i;
/** Members that name an image's bytes or address, in the order in which they are looked for. */
const CARRIERS = [
  ...['image_url', 'imageUrl', 'input_image', 'inline_data', 'inlineData', 'file_data', 'fileData', 'source'],
  ...['image', 'file', 'resource', 'b64_json', 'base64', 'data', 'blob', 'bytes', 'url', 'uri', 'file_uri', 'fileUri'],
];
/** Members with plain base64 in them. */
const ENCODED = new Set(['b64_json', 'base64', 'data', 'blob', 'bytes', 'file_data', 'fileData', 'image']);
const MEDIA_TYPES = ['mime_type', 'mimeType', 'media_type', 'mediaType', 'content_type', 'contentType'];
const FILE_IDS = ['file_id', 'fileId', 'image_file', 'image_file_id'];
/** Nesting of the deepest known shape, and one more. */
const MAX_DEPTH = 5;

/** What was found in a place where an image may be: a reference to it, or why it can't be used. */
export type FoundImage = { readonly reference: Text } | { readonly problem: FieldProblem };

/**
 * Reads an image in any of the shapes that published clients and servers send: a URL, a data URI, plain base64, and the
 * objects of OpenAI (`image_url`, `input_image`, `file`), Anthropic (`source`), Gemini (`inline_data`, `fileData`),
 * MCP (`data`, `mimeType`), LangChain (`source_type`, `base64`), Bedrock (`bytes`), and the AI SDK (`image`,
 * `mediaType`). Undefined if the value names no image. The reference itself is not checked yet.
 */
export function imageIn(value: unknown, mediaType?: string, depth = 0): FoundImage | undefined {
  if (typeof value === 'string' || value instanceof LongText) return inText(value, mediaType);
  if (typeof value !== 'object' || value === null || Array.isArray(value) || depth >= MAX_DEPTH) return undefined;
  const members = value as Readonly<Record<string, unknown>>;
  const type = MEDIA_TYPES.map((name) => members[name]).find((one) => typeof one === 'string') ?? mediaType;
  if (typeof type === 'string' && !isImageType(type)) return refused(`files of the type ${type.slice(0, 64)}`);
  for (const name of CARRIERS) {
    const carried = members[name];
    if (carried === undefined || carried === null || carried === '') continue;
    if (Array.isArray(carried) || isBytes(carried)) return refused('bytes as a list of numbers', `.${name}`);
    const found = imageIn(carried, ENCODED.has(name) ? (type ?? 'image/png') : type, depth + 1);
    if (found !== undefined) return within(found, typeof carried === 'object' && !isText(carried) ? `.${name}` : '');
  }
  const id = FILE_IDS.find((name) => members[name] !== undefined && members[name] !== null);
  return id === undefined ? undefined : refused('files by their IDs', `.${id}`);
}

/** A text as an image; `mediaType` is given where plain base64 may stand. */
function inText(text: Text, mediaType: string | undefined): FoundImage | undefined {
  const start = startOf(text, MAX_START);
  if (start === '') return undefined;
  if (/^\s*[a-z][a-z\d+.-]*:/i.test(start)) return { reference: text };
  if (mediaType === undefined && !IMAGE_BASE64.test(start)) return { reference: text };
  const head = `data:${mediaType !== undefined && isImageType(mediaType) ? mediaType : 'image/png'};base64,`;
  return { reference: text instanceof LongText ? text.behind(head) : head + text };
}

/** Whether a value has an image in it, wherever that is, or names one where its name promises one. */
export function carriesImage(name: string, value: unknown): boolean {
  return namesImage(name) ? isGiven(value) : holdsImage(value, mentionsImage(name), 0);
}

function holdsImage(value: unknown, isNamed: boolean, depth: number): boolean {
  if (isText(value)) {
    const start = startOf(value, MAX_START);
    if (DATA_URI.test(start) || IMAGE_BASE64.test(start) || IMAGE_FILE.test(start)) return true;
    return isNamed && WEB_ADDRESS.test(start);
  }
  if (typeof value !== 'object' || value === null || depth >= 32) return false;
  if (Array.isArray(value)) return value.some((item) => holdsImage(item, isNamed, depth + 1));
  return Object.entries(value).some(([name, item]) => holdsImage(item, isNamed || mentionsImage(name), depth + 1));
}

const NOUN = '(?:images?|imgs?|pictures?|photos?|masks?)';
const ROLE =
  '(?:input|init|initial|source|src|reference|ref|base|control|subject|character|style|start|end|first|last|edit)';
const FORM = '(?:urls?|uris?|b64|base64|b64json|data|files?|fileids?|ids?|bytes|path)';
const IMAGE_NAME = new RegExp(`^${ROLE}?${NOUN}${FORM}?$`);

/** Whether a field's name promises an image, whatever its value is: `init_image`, `maskUrl`. */
function namesImage(name: string): boolean {
  return IMAGE_NAME.test(plainWord(name));
}

function mentionsImage(name: string): boolean {
  return new RegExp(NOUN).test(plainWord(name));
}

/** A name without case, separators, and indexes: `inputimages` for `inputImages`, `Input-Images` and `input_images[0]`. */
export function plainWord(name: string): string {
  return name
    .toLowerCase()
    .replace(/\[\d*\]$/, '')
    .replace(/[-_. ]/g, '');
}

/** Whether a value says anything: numbers, flags, and empty values are no image. */
function isGiven(value: unknown): boolean {
  if (typeof value === 'object' && value !== null && !(value instanceof LongText)) {
    return Object.values(value).some((item) => item !== null && item !== undefined && item !== '');
  }
  return isText(value) && !/^\s*(?:|true|false|null|none|undefined|auto|-?[\d.]+)\s*$/i.test(startOf(value, MAX_START));
}

function isText(value: unknown): value is Text {
  return typeof value === 'string' || value instanceof LongText;
}

/** Bytes as JSON.stringify writes a Uint8Array or a Buffer. */
function isBytes(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || value instanceof LongText) return false;
  return '0' in value || (value as { type?: unknown }).type === 'Buffer';
}

function isImageType(type: string): boolean {
  return /^\s*(?:image(?:\/|$)|(?:application|binary)\/octet-stream|\*\/\*|$)/i.test(type);
}

function refused(what: string, at = ''): FoundImage {
  const message = `${what} can't be used; send an image's URL or data URI`;
  return { problem: { code: 'unsupported_parameter', message, at } };
}

function within(found: FoundImage, at: string): FoundImage {
  if ('reference' in found) return found;
  return { problem: { ...found.problem, at: at + (found.problem.at ?? '') } };
}
