import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { begun } from '#bytes/bytes.js';
import { AppError } from '#contract/app-error.js';
import { MAX_REFERENCE_IMAGES } from '#contract/image-reference.js';
import { AsyncImageEditForm } from '#contract/image-request.js';
import { plainWord } from '#contract/image-shapes.js';
import { fieldsOf, shownNames } from '#contract/request-fields.js';
import { tagsIn } from '#contract/labels.js';
import { svgOfForm } from '#contract/svg-author.js';
import type { TaskInput } from '#tasks/row/task.js';
import {
  readForm,
  sentAsFile,
  UNNAMED,
  type FormParts,
  type FormSource,
  type PartHead,
} from '../common/fastify/read-form.js';
import type { InputUpload } from './input-upload.js';

/** Names of images, masks and markup, without case and separators. */
const IMAGE_PART = /^(?:input|reference|ref)?images?(?:files?)?(?:\[(\d{0,6})\]|(\d{1,6}))?$/;
const MASK_PART = /^(?:image|input)?masks?(?:images?|files?)?(?:\[0?\]|0)?$/;
const MARKUP_PART = /^markups?(?:images?|files?)?(?:\[0?\]|0)?$/;
/** One tag of several, or all of them with commas. */
const TAGS_PART = /^tags(?:\[\d{0,6}\])?$/i;
/** What clients write for an option that is not set. */
const UNSET = /^(?:|null|none|undefined)$/i;
/** Fields in which these words are text. */
const FREE_TEXTS = ['prompt', 'user', 'safety_identifier'];

/** A completely read multipart edit: texts as they were sent, files already stored. */
export interface EditForm {
  readonly texts: Readonly<Record<string, string>>;
  readonly images: readonly TaskInput[];
  /** The mask or markup. */
  readonly mask: TaskInput | null;
  /** SHA-256 (hex) of the files. */
  readonly digests: {
    readonly images: readonly string[];
    readonly masks: readonly string[];
    readonly markups?: readonly string[];
  };
}

interface ReceivedFile {
  readonly input: TaskInput;
  /** SHA-256 (hex). */
  readonly digest: string;
}

interface ReceivedImage extends ReceivedFile {
  /** The sender's position: N of `image[N]`, or else the order of arrival. */
  readonly position: number;
}

/**
 * Parses a multipart edit as it arrives, with its parts in any order. Throws AppError (invalid_multipart,
 * request_too_large, array_above_max_length, ...) or the connection's error; the caller then discards the upload.
 */
export function readEditForm(source: FormSource, upload: InputUpload): Promise<EditForm> {
  return readForm(source, (refuse) => new EditParts(upload, refuse));
}

class EditParts implements FormParts<EditForm> {
  /** Has no prototype, so that `__proto__` is an ordinary name. */
  private readonly texts = Object.create(null) as Record<string, string>;
  private readonly images: ReceivedImage[] = [];
  private readonly storing: Promise<void>[] = [];
  private readonly open = new Set<Readable>();
  private arrivals = 0;
  private imageCount = 0;
  private overlay: Overlay | undefined;
  private mask: ReceivedFile | undefined;

  constructor(
    private readonly upload: InputUpload,
    private readonly fail: (error: Error) => void,
  ) {}

  /** A known text field is a text, however it is sent: some clients give each part a file name, or send bytes. */
  isFile(head: PartHead): boolean {
    return sentAsFile(head) && !isTextField(head.name);
  }

  file(name: string, stream: Readable, fileName: string | undefined): void {
    this.open.add(stream);
    // Its reader gets the same error, but may not have started reading.
    stream.on('error', () => undefined);
    const stored = this.take(name, stream, { arrival: this.arrivals++, isUnset: fileName === '' });
    this.storing.push(stored.catch(this.fail).finally(() => this.open.delete(stream)));
  }

  text(name: string, value: string, cut: boolean): void {
    const param = name.slice(0, 64);
    const place = placeOf(name);
    const isTag = TAGS_PART.test(name);
    const isUnset = UNSET.test(value) && !FREE_TEXTS.includes(name);
    if (place !== undefined && !isUnset) {
      this.fail(new AppError('invalid_type', `${param} must be a file`, { param: place.kind }));
    } else if (cut) {
      this.fail(new AppError('string_above_max_length', `The text part ${param} is too long.`, { param }));
    } else if (name in this.texts && !isTag && !name.endsWith('[]') && name !== UNNAMED) {
      this.fail(new AppError('invalid_value', `The form has more than one ${param}.`, { param }));
    } else if (!isUnset && (value !== '' || name === 'prompt')) {
      const earlier = isTag ? this.texts['tags'] : undefined;
      this.texts[isTag ? 'tags' : name] = earlier === undefined ? value : `${earlier},${value}`;
    }
  }

  abandon(error: Error): void {
    for (const stream of this.open) stream.destroy(error);
  }

  async settled(): Promise<void> {
    await Promise.all(this.storing);
  }

  result(): EditForm {
    const files = this.images.sort((a, b) => a.position - b.position);
    return {
      texts: this.texts,
      images: files.map(({ input }, index) => ({ ...input, param: paramOf(index, files.length) })),
      mask: this.mask?.input ?? null,
      digests: {
        images: files.map(({ digest }) => digest),
        masks: this.overlay === 'mask' && this.mask !== undefined ? [this.mask.digest] : [],
        ...(this.overlay === 'markup' && this.mask !== undefined && { markups: [this.mask.digest] }),
      },
    };
  }

  /** Throws AppError for a file that would be left out, except a file input in which nothing was chosen. */
  private async take(name: string, stream: Readable, { arrival, isUnset }: Arrival): Promise<void> {
    const place = placeOf(name);
    const bytes = isUnset ? await unlessEmpty(stream) : (stream as AsyncIterable<Buffer>);
    if (bytes === undefined) return;
    if (place === undefined) throw unknownFile(name);
    if (place.kind === 'image') await this.storeImage(bytes, name, place.position ?? arrival);
    else await this.storeOverlay(bytes, place.kind);
  }

  private async storeImage(bytes: AsyncIterable<Buffer>, name: string, position: number): Promise<void> {
    const slot = this.imageCount++;
    if (slot >= MAX_REFERENCE_IMAGES) {
      throw new AppError('array_above_max_length', `At most ${MAX_REFERENCE_IMAGES} images are allowed.`, {
        param: 'image',
      });
    }
    const param = slot === 0 && name === 'image' ? 'image' : `image[${slot}]`;
    this.images.push({ ...(await this.store(bytes, slot, param)), position });
  }

  private async storeOverlay(bytes: AsyncIterable<Buffer>, kind: Overlay): Promise<void> {
    if (this.overlay === kind) throw new AppError('invalid_value', `Only one ${kind} is allowed.`, { param: kind });
    if (this.overlay !== undefined) throw maskWithMarkup();
    this.overlay = kind;
    const { input, digest } = await this.store(bytes, 'mask', kind);
    this.mask = { input: kind === 'markup' ? { ...input, markup: true } : input, digest };
  }

  private async store(bytes: AsyncIterable<Buffer>, slot: number | 'mask', param: string): Promise<ReceivedFile> {
    const hash = createHash('sha256');
    const input = await this.upload.add(bytes, slot, param, hash);
    return { input, digest: hash.digest('hex') };
  }
}

interface Arrival {
  /** Its place among the files of the form. */
  readonly arrival: number;
  readonly isUnset: boolean;
}

/** What lies over the first image. */
type Overlay = 'mask' | 'markup';

/** What a part's name means; `position` is N of `image[N]` and `imageN`. */
type Place = { readonly kind: 'image'; readonly position: number | undefined } | { readonly kind: Overlay };

function placeOf(name: string): Place | undefined {
  const [base = '', ...index] = name.split(/(?=\[)/);
  const word = base.toLowerCase().replace(/[-_. ]/g, '') + index.join('');
  if (MASK_PART.test(word)) return { kind: 'mask' };
  if (MARKUP_PART.test(word)) return { kind: 'markup' };
  const image = IMAGE_PART.exec(word);
  if (image === null) return undefined;
  const position = image[1] || image[2];
  return { kind: 'image', position: position === undefined ? undefined : Number(position) };
}

let textFields: ReadonlySet<string> | undefined;

function isTextField(name: string): boolean {
  textFields ??= new Set(fieldsOf(AsyncImageEditForm).map(plainWord));
  return textFields.has(plainWord(name));
}

/** Undefined when nothing arrives. */
async function unlessEmpty(stream: Readable): Promise<AsyncIterable<Buffer> | undefined> {
  const { head, whole } = await begun(stream as AsyncIterable<Buffer>, 1);
  return head.length === 0 ? undefined : whole;
}

/** The error for a request with both. */
export function maskWithMarkup(): AppError {
  return new AppError('unsupported_parameter', 'markup cannot be combined with mask.', { param: 'markup' });
}

function unknownFile(name: string): AppError {
  const param = shownNames([name])[0] ?? '';
  const text = `The file ${param} would be left out: send images as image[], and a mask as mask.`;
  return new AppError('unsupported_parameter', text, { param });
}

function paramOf(index: number, count: number): string {
  return count === 1 ? 'image' : `image[${index}]`;
}

const NUMBERS = ['n', 'output_compression', 'partial_images', 'frame_count', 'frame_duration_ms', 'expires_after'];
const FLAGS = ['stream', 'strict', 'store'];

/** Parses text parts as JSON values; a text that can't be parsed stays a string and fails validation. */
export function coerceTexts(texts: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const values = Object.create(null) as Record<string, unknown>;
  for (const [name, text] of Object.entries(texts)) {
    if (typeof text !== 'string') values[name] = text;
    else if (NUMBERS.includes(name) && /^-?\d{1,15}(\.\d+)?$/.test(text)) values[name] = Number(text);
    else if (FLAGS.includes(name) && /^(true|false)$/i.test(text)) values[name] = text.toLowerCase() === 'true';
    else if (name === 'tags') values[name] = tagsIn(text);
    else values[name] = text;
  }
  svgOfForm(values);
  return values;
}
