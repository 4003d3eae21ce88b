import { randomUUID } from 'node:crypto';
import { inSlices } from '#bytes/bytes.js';

/** A multiple of three, so that no padding falls between two slices. */
const ENCODED_BYTES = 786_432;

/**
 * Images on their way through the library. It sees names in their places, because it would encode, parse and copy them
 * whole, each in one go.
 */
export class ImagePlaceholders {
  private readonly images = new Map<string, readonly Buffer[]>();
  private readonly prefix = `image${randomUUID().replaceAll('-', '')}n`;

  /** The name, made of letters and digits that nobody else can know. */
  put(image: readonly Buffer[]): string {
    const name = `${this.prefix}${this.images.size}`;
    this.images.set(name, image);
    return name;
  }

  /** Undefined when it is no name. */
  find(name: string): readonly Buffer[] | undefined {
    return this.images.get(name);
  }

  /** A text of the library in pieces, with base64 in the place of each name. */
  async filled(text: string): Promise<Buffer[]> {
    const pieces: Buffer[] = [];
    for (const [index, part] of text.split(new RegExp(`(${this.prefix}\\d+)`)).entries()) {
      if (index % 2 === 0) pieces.push(Buffer.from(part));
      else for (const bytes of this.images.get(part) ?? []) await encode(bytes, pieces);
    }
    return pieces;
  }
}

async function encode(bytes: Buffer, pieces: Buffer[]): Promise<void> {
  for await (const slice of inSlices(bytes, ENCODED_BYTES))
    pieces.push(Buffer.from(slice.toString('base64'), 'latin1'));
}
