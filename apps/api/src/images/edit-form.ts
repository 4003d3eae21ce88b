import type { Readable } from 'node:stream';
import { AppError } from '#contract/app-error.js';
import { MAX_REFERENCE_IMAGES } from '#contract/image-reference.js';
import type { TaskInput } from '#tasks/row/task.js';
import { passBy, readForm, UNNAMED, type FormParts, type FormSource } from '../common/fastify/read-form.js';
import type { InputUpload } from './input-upload.js';

const IMAGE_PART = /^images?(?:\[(\d{0,6})\])?$/;

/** A completely read multipart edit: texts as they were sent, files already stored. */
export interface EditForm {
  readonly texts: Readonly<Record<string, string>>;
  readonly images: readonly TaskInput[];
  readonly mask: TaskInput | null;
  /** Names of unknown files. */
  readonly ignored: readonly string[];
}

interface ReceivedImage {
  readonly input: TaskInput;
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
  private readonly ignored: string[] = [];
  private readonly storing: Promise<void>[] = [];
  private readonly open = new Set<Readable>();
  private imageCount = 0;
  private maskCount = 0;
  private mask: TaskInput | null = null;

  constructor(
    private readonly upload: InputUpload,
    private readonly fail: (error: Error) => void,
  ) {}

  file(name: string, stream: Readable): void {
    const image = IMAGE_PART.exec(name);
    if (image === null && name !== 'mask') {
      this.ignored.push(name);
      passBy(stream);
      return;
    }
    this.open.add(stream);
    // Its reader gets the same error, but may not have started reading.
    stream.on('error', () => undefined);
    const stored = image === null ? this.storeMask(stream) : this.storeInput(stream, name, image[1]);
    this.storing.push(stored.catch(this.fail).finally(() => this.open.delete(stream)));
  }

  text(name: string, value: string, cut: boolean): void {
    const param = name.slice(0, 64);
    if (IMAGE_PART.test(name) || name === 'mask') {
      this.fail(new AppError('invalid_type', `${name} must be a file`, { param: name === 'mask' ? name : 'image' }));
    } else if (cut) {
      this.fail(new AppError('string_above_max_length', `The text part ${param} is too long.`, { param }));
    } else if (name in this.texts && !name.endsWith('[]') && name !== UNNAMED) {
      this.fail(new AppError('invalid_value', `The form has more than one ${param}.`, { param }));
    } else if (value !== '' || name === 'prompt') {
      this.texts[name] = value;
    }
  }

  abandon(error: Error): void {
    for (const stream of this.open) stream.destroy(error);
  }

  async settled(): Promise<void> {
    await Promise.all(this.storing);
  }

  result(): EditForm {
    const inputs = this.images.sort((a, b) => a.position - b.position).map(({ input }) => input);
    const images = inputs.map((input, index) => ({ ...input, param: paramOf(index, inputs.length) }));
    return { texts: this.texts, images, mask: this.mask, ignored: this.ignored };
  }

  private async storeInput(stream: Readable, name: string, position: string | undefined): Promise<void> {
    const slot = this.imageCount++;
    if (slot >= MAX_REFERENCE_IMAGES) {
      throw new AppError('array_above_max_length', `At most ${MAX_REFERENCE_IMAGES} images are allowed.`, {
        param: 'image',
      });
    }
    const param = slot === 0 && name === 'image' ? 'image' : `image[${slot}]`;
    const input = await this.upload.add(stream as AsyncIterable<Buffer>, slot, param);
    this.images.push({ input, position: position ? Number(position) : slot });
  }

  private async storeMask(stream: Readable): Promise<void> {
    if (this.maskCount++ > 0) throw new AppError('invalid_value', 'Only one mask is allowed.', { param: 'mask' });
    this.mask = await this.upload.add(stream as AsyncIterable<Buffer>, 'mask', 'mask');
  }
}

function paramOf(index: number, count: number): string {
  return count === 1 ? 'image' : `image[${index}]`;
}

const NUMBERS = ['n', 'output_compression', 'partial_images'];
const FLAGS = ['stream', 'strict'];

/** Parses text parts as JSON values; a text that can't be parsed stays a string and fails validation. */
export function coerceTexts(texts: Readonly<Record<string, string>>): Record<string, unknown> {
  const values = Object.create(null) as Record<string, unknown>;
  for (const [name, text] of Object.entries(texts)) {
    if (NUMBERS.includes(name) && /^-?\d{1,15}(\.\d+)?$/.test(text)) values[name] = Number(text);
    else if (FLAGS.includes(name) && /^(true|false)$/.test(text)) values[name] = text === 'true';
    else values[name] = text;
  }
  return values;
}
