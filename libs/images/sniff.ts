/** The three image formats taken and delivered. */
export type ImageType = 'png' | 'jpeg' | 'webp';
export type ImageContentType = 'image/png' | 'image/jpeg' | 'image/webp';

/** How many first bytes `sniffImageType` needs to decide. */
export const SNIFF_BYTES = 12;

const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const JPEG_SIGNATURE = Buffer.from([0xff, 0xd8, 0xff]);

/** Tells the format by the first bytes alone; undefined when it is none of the three or too short to tell. */
export function sniffImageType(head: Uint8Array): ImageType | undefined {
  const bytes = Buffer.from(head.buffer, head.byteOffset, Math.min(head.byteLength, SNIFF_BYTES));
  if (bytes.subarray(0, 8).equals(PNG_SIGNATURE)) return 'png';
  if (bytes.subarray(0, 3).equals(JPEG_SIGNATURE)) return 'jpeg';
  if (bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP') return 'webp';
  return undefined;
}

/** The media type an image of this format is served with. */
export function contentTypeOf(type: ImageType): ImageContentType {
  return `image/${type}`;
}
