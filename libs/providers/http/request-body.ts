import { randomBytes } from 'node:crypto';
import type { ProviderInputImage } from '../image-provider.js';

/** A file in a form. */
export interface FilePart {
  readonly name: string;
  readonly fileName: string;
  readonly contentType: string;
  readonly bytes: Buffer;
}

/** A request body of known length, whose pieces are sent one by one without joining them. */
export interface RequestBody {
  readonly contentType: string;
  readonly bytes: number;
  readonly pieces: readonly Buffer[];
}

/** An object as a JSON body. */
export function jsonBody(value: object): RequestBody {
  const bytes = Buffer.from(JSON.stringify(value));
  return { contentType: 'application/json', bytes: bytes.length, pieces: [bytes] };
}

/** An image as a file part; its type determines the extension of the file name. */
export function imagePart(name: string, fileName: string, { bytes, contentType }: ProviderInputImage): FilePart {
  const extension = contentType === 'image/jpeg' ? 'jpg' : contentType.slice('image/'.length);
  return { name, fileName: `${fileName}.${extension}`, contentType, bytes };
}

/** Text fields first, then files, as every form parser expects. We choose the names, so they need no escaping. */
export function formBody(fields: Readonly<Record<string, unknown>>, files: readonly FilePart[]): RequestBody {
  const boundary = `darkroom-${randomBytes(24).toString('hex')}`;
  const pieces: Buffer[] = [];
  const open = (disposition: string, more = ''): void => {
    pieces.push(Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n${more}\r\n`));
  };
  for (const [name, value] of Object.entries(fields)) {
    open(`name="${name}"`);
    pieces.push(Buffer.from(`${typeof value === 'string' ? value : JSON.stringify(value)}\r\n`));
  }
  for (const { name, fileName, contentType, bytes } of files) {
    open(`name="${name}"; filename="${fileName}"`, `Content-Type: ${contentType}\r\n`);
    pieces.push(bytes, Buffer.from('\r\n'));
  }
  pieces.push(Buffer.from(`--${boundary}--\r\n`));
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    bytes: pieces.reduce((sum, piece) => sum + piece.length, 0),
    pieces,
  };
}
