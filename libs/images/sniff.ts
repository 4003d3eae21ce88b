/** The formats that providers accept as inputs. */
type SentType = 'png' | 'jpeg' | 'webp';
/** The formats that results can have. */
export type ImageType = SentType | 'gif';
/** The formats that callers may send. */
export type InputType = ImageType | 'avif';
/** The callers' formats that no provider is sent: the worker converts them to PNG. */
export const CONVERTED_TYPES = ['gif', 'avif'] as const;
export type ConvertedType = (typeof CONVERTED_TYPES)[number];
export type SentContentType = `image/${SentType}`;
export type ImageContentType = `image/${ImageType}`;
export type InputContentType = `image/${InputType}`;

/** Number of first bytes that `sniffInputType` needs. */
export const SNIFF_BYTES = 64;

/** What the formats are called in texts. */
export const FORMAT_NAMES: Readonly<Record<InputType, string>> = {
  png: 'PNG',
  jpeg: 'JPEG',
  webp: 'WebP',
  gif: 'GIF',
  avif: 'AVIF',
};
/** The formats that callers may send, for error messages. */
export const ACCEPTED_FORMATS = 'PNG, JPEG, WebP, AVIF or GIF';

const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const JPEG_SIGNATURE = Buffer.from([0xff, 0xd8, 0xff]);
const GIF_SIGNATURES = ['GIF87a', 'GIF89a'];
/** Brands of files with AV1: one image, and a sequence of images. */
const AVIF_BRANDS = ['avif', 'avis'];
/** Brands of files with HEVC, and those that say nothing about the codec. */
const HEIC_BRANDS = ['heic', 'heix', 'heim', 'heis', 'hevc', 'hevx', 'hevm', 'hevs', 'mif1', 'msf1', 'mif2'];

/** Detects the format of a result from its first bytes; undefined for an unsupported format or too few bytes. */
export function sniffImageType(head: Uint8Array): ImageType | undefined {
  const bytes = firstOf(head);
  if (bytes.subarray(0, 8).equals(PNG_SIGNATURE)) return 'png';
  if (bytes.subarray(0, 3).equals(JPEG_SIGNATURE)) return 'jpeg';
  if (bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP') return 'webp';
  if (GIF_SIGNATURES.includes(bytes.toString('latin1', 0, 6))) return 'gif';
  return undefined;
}

/** Like `sniffImageType` for a caller's image, which may also be AVIF. */
export function sniffInputType(head: Uint8Array): InputType | undefined {
  return sniffImageType(head) ?? (brandsOf(head).some((brand) => AVIF_BRANDS.includes(brand)) ? 'avif' : undefined);
}

/** Why a caller's image is refused, as a sentence without its period. HEIC, which phones take, is refused by name. */
export function unsupportedText(head: Uint8Array, what: string): string {
  const isHeic = brandsOf(head).some((brand) => HEIC_BRANDS.includes(brand));
  const accepted = `must be a ${ACCEPTED_FORMATS} image`;
  return isHeic ? `${what} is a HEIC image, which is not supported: it ${accepted}` : `${what} ${accepted}`;
}

/** Whether the worker converts images of this type to PNG. */
export function isConverted(type: InputType): type is ConvertedType {
  return CONVERTED_TYPES.some((one) => one === type);
}

/** The media type of images in this format. */
export function contentTypeOf<Type extends InputType>(type: Type): `image/${Type}` {
  return `image/${type}`;
}

/** The brands of an ISO base media file, among its first bytes: the major one, and those that it is compatible with. */
function brandsOf(head: Uint8Array): string[] {
  const bytes = firstOf(head);
  if (bytes.length < 12 || bytes.toString('latin1', 4, 8) !== 'ftyp') return [];
  const end = Math.min(bytes.readUInt32BE(0), bytes.length);
  const brands = [bytes.toString('latin1', 8, 12)];
  // The minor version is between them.
  for (let at = 16; at + 4 <= end; at += 4) brands.push(bytes.toString('latin1', at, at + 4));
  return brands;
}

function firstOf(head: Uint8Array): Buffer {
  return Buffer.from(head.buffer, head.byteOffset, Math.min(head.byteLength, SNIFF_BYTES));
}
