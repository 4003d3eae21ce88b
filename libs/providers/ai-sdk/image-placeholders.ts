import { randomUUID } from 'node:crypto';
import { inSlices } from '#bytes/bytes.js';

/** A multiple of three, so that base64 has no padding between two slices. */
const ENCODED_BYTES = 786_432;

/**
 * Replaces images by placeholder texts for the library, which would otherwise encode, parse, and copy each image in one
 * blocking step.
 */
export class ImagePlaceholders {
  private readonly images = new Map<string, Buffer>();
  private readonly prefix = `image${randomUUID().replaceAll('-', '')}n`;

  /** Stores an image and returns its placeholder, of unguessable letters and digits. */
  put(image: Buffer): string {
    const name = `${this.prefix}${this.images.size}`;
    this.images.set(name, image);
    return name;
  }

  /** The image of a placeholder; undefined for any other text. */
  find(name: string): Buffer | undefined {
    return this.images.get(name);
  }

  /** Splits the library's text into pieces, with placeholders replaced by base64. */
  async filled(text: string): Promise<Buffer[]> {
    const pieces: Buffer[] = [];
    for (const [index, part] of text.split(new RegExp(`(${this.prefix}\\d+)`)).entries()) {
      const image = index % 2 === 0 ? undefined : this.images.get(part);
      if (image === undefined) pieces.push(Buffer.from(part));
      else await encode(image, pieces);
    }
    return pieces;
  }
}

async function encode(bytes: Buffer, pieces: Buffer[]): Promise<void> {
  for await (const slice of inSlices(bytes, ENCODED_BYTES))
    pieces.push(Buffer.from(slice.toString('base64'), 'latin1'));
}
