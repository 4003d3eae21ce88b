/** The three image formats accepted from callers. */
export type InputType = 'png' | 'jpeg' | 'webp';
/** The formats that results can have. */
export type ImageType = InputType | 'gif';
export type InputContentType = `image/${InputType}`;
export type ImageContentType = `image/${ImageType}`;

/** Number of first bytes that `sniffImageType` needs. */
export const SNIFF_BYTES = 12;

const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const JPEG_SIGNATURE = Buffer.from([0xff, 0xd8, 0xff]);
const GIF_SIGNATURES = ['GIF87a', 'GIF89a'];

/** Detects the format from the first bytes; undefined for an unsupported format or too few bytes. */
export function sniffImageType(head: Uint8Array): ImageType | undefined {
  const bytes = Buffer.from(head.buffer, head.byteOffset, Math.min(head.byteLength, SNIFF_BYTES));
  if (bytes.subarray(0, 8).equals(PNG_SIGNATURE)) return 'png';
  if (bytes.subarray(0, 3).equals(JPEG_SIGNATURE)) return 'jpeg';
  if (bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP') return 'webp';
  if (GIF_SIGNATURES.includes(bytes.toString('latin1', 0, 6))) return 'gif';
  return undefined;
}

/** Like `sniffImageType` for a caller's image: undefined unless it is one of the three accepted formats. */
export function sniffInputType(head: Uint8Array): InputType | undefined {
  const type = sniffImageType(head);
  return type === 'gif' ? undefined : type;
}

/** The media type of images in this format. */
export function contentTypeOf<Type extends ImageType>(type: Type): `image/${Type}` {
  return `image/${type}`;
}
