import type { Readable } from 'node:stream';
import { AppError } from '#contract/app-error.js';
import { discardRest } from '../common/request-stream.js';
import { readForm, sentAsFile, type FormParts, type FormSource, type PartHead } from '../common/fastify/read-form.js';

/** Name of the part with the image, as in APIMart's API. */
export const FILE_PART = 'file';
const MAX_NAME_LENGTH = 255;

/** The content of a complete form. */
export interface UploadForm<T> {
  readonly stored: T;
  /** The file name that the sender gave. */
  readonly fileName: string;
  /** The values of the texts that were asked for; one that was cut is too long for any of them. */
  readonly texts: ReadonlyMap<string, string>;
  /** Names of unknown parts. */
  readonly ignored: readonly string[];
}

/**
 * Parses a form with one file as it arrives; `store` reads the file; `names` are of the texts beside it. Throws AppError (missing_required_parameter,
 * invalid_type, invalid_value, invalid_multipart, request_too_large), what `store` throws, or the connection's error.
 */
export async function readUploadForm<T>(
  source: FormSource,
  tooLarge: () => AppError,
  store: (stream: Readable) => Promise<T>,
  names: readonly string[] = [],
): Promise<UploadForm<T>> {
  const { payload, maxBytes } = source;
  if (Number(payload.headers['content-length'] ?? 0) > maxBytes) {
    discardRest(payload);
    throw tooLarge();
  }
  return readForm(source, (refuse) => new UploadParts(store, refuse, names));
}

class UploadParts<T> implements FormParts<UploadForm<T>> {
  private stream: Readable | undefined;
  private storing: Promise<void> | undefined;
  private stored: { value: T } | undefined;
  private fileName = '';
  private readonly texts = new Map<string, string>();
  private readonly ignored: string[] = [];

  constructor(
    private readonly store: (stream: Readable) => Promise<T>,
    private readonly refuse: (error: Error) => void,
    private readonly names: readonly string[],
  ) {}

  isFile(head: PartHead): boolean {
    return sentAsFile(head);
  }

  file(name: string, stream: Readable, fileName: string | undefined): void {
    // A truncated part fails its stream, perhaps before it is read.
    stream.on('error', () => undefined);
    if (name === FILE_PART && this.storing === undefined) {
      this.stream = stream;
      this.fileName = fileName ?? '';
      this.storing = this.store(stream).then((value) => {
        this.stored = { value };
      }, this.refuse);
      return;
    }
    stream.resume();
    if (name !== FILE_PART) this.ignored.push(name);
    else this.refuse(new AppError('invalid_value', 'Only one file is allowed.', { param: FILE_PART }));
  }

  text(name: string, value: string): void {
    if (this.names.includes(name)) this.texts.set(name, value);
    else if (name !== FILE_PART) this.ignored.push(name);
    else this.refuse(new AppError('invalid_type', 'file must be a file', { param: FILE_PART }));
  }

  abandon(error: Error): void {
    this.stream?.destroy(error);
  }

  async settled(): Promise<void> {
    await this.storing;
  }

  result(): UploadForm<T> {
    if (this.stored === undefined) {
      throw new AppError('missing_required_parameter', "Missing required parameter: 'file'.", { param: FILE_PART });
    }
    return { stored: this.stored.value, fileName: cleanName(this.fileName), texts: this.texts, ignored: this.ignored };
  }
}

/** Only its sender sees the name, but control characters and paths are removed all the same. */
function cleanName(name: string): string {
  // eslint-disable-next-line no-control-regex -- control characters are what is looked for
  const clean = name.replace(/[\u0000-\u001f\u007f]|^.*[/\\]/g, '').slice(0, MAX_NAME_LENGTH);
  return clean === '' ? 'image' : Buffer.from(clean, 'utf8').toString('utf8');
}
