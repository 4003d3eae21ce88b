import { joined } from '#bytes/bytes.js';
import { FileStructure } from './file-structure.js';
import type { InputType } from './sniff.js';

/**
 * An image without EXIF, XMP, content credentials, comments, text, and trailing bytes. Pixels and color profile
 * stay the same; nothing is re-encoded. Throws ImageError when the file's structure is damaged.
 */
export async function stripMetadata(bytes: Buffer, type: InputType): Promise<Buffer> {
  return joined(await (await FileStructure.of(bytes, type)).image());
}
