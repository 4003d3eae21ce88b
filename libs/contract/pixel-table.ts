/** Sizes of a generation: ratios, or `auto` to let the provider choose. */
export const IMAGE_SIZES = [
  'auto',
  '1:1',
  '3:2',
  '2:3',
  '4:3',
  '3:4',
  '5:4',
  '4:5',
  '16:9',
  '9:16',
  '2:1',
  '1:2',
  '21:9',
  '9:21',
] as const;
export type ImageSize = (typeof IMAGE_SIZES)[number];

export const RESOLUTIONS = ['1k', '2k', '4k'] as const;
export type Resolution = (typeof RESOLUTIONS)[number];
/** The tier of requests that don't name one. */
export const DEFAULT_RESOLUTION: Resolution = '2k';

/** Exact pixels of an image. */
export interface Pixels {
  readonly width: number;
  readonly height: number;
}

/** The frozen table (contract, "The pixel table"): size -> pixels at 1k, 2k, and 4k. */
const TABLE: Readonly<Record<Exclude<ImageSize, 'auto'>, readonly [string, string, string]>> = {
  '1:1': ['1024x1024', '2048x2048', '2880x2880'],
  '3:2': ['1536x1024', '2048x1360', '3520x2336'],
  '2:3': ['1024x1536', '1360x2048', '2336x3520'],
  '4:3': ['1024x768', '2048x1536', '3312x2480'],
  '3:4': ['768x1024', '1536x2048', '2480x3312'],
  '5:4': ['1280x1024', '2560x2048', '3216x2576'],
  '4:5': ['1024x1280', '2048x2560', '2576x3216'],
  '16:9': ['1536x864', '2048x1152', '3840x2160'],
  '9:16': ['864x1536', '1152x2048', '2160x3840'],
  '2:1': ['2048x1024', '2688x1344', '3840x1920'],
  '1:2': ['1024x2048', '1344x2688', '1920x3840'],
  '21:9': ['2016x864', '2688x1152', '3840x1648'],
  '9:21': ['864x2016', '1152x2688', '1648x3840'],
};

const BY_PIXELS = new Map(
  Object.entries(TABLE).flatMap(([size, row]) =>
    row.map((text, tier) => [text, { size: size as ImageSize, resolution: RESOLUTIONS[tier] as Resolution }] as const),
  ),
);

/** Exact pixels of the result; null for `auto`, because the provider chooses. */
export function pixelsFor(size: ImageSize, resolution: Resolution): Pixels | null {
  if (size === 'auto') return null;
  const [width, height] = TABLE[size][RESOLUTIONS.indexOf(resolution)]?.split('x') ?? [];
  return { width: Number(width), height: Number(height) };
}

/** The tiers with the area of their largest image in the table; the areas of different tiers don't overlap. */
const TIER_AREAS = RESOLUTIONS.map((tier) => {
  const images = Object.keys(TABLE).map((size) => pixelsFor(size as ImageSize, tier));
  return { tier, most: Math.max(...images.map((image) => (image === null ? 0 : image.width * image.height))) };
});

/** The tier at which an image of any size is billed: the first whose largest area is big enough, else 4k. */
export function tierOfPixels({ width, height }: Pixels): Resolution {
  return TIER_AREAS.find(({ most }) => width * height <= most)?.tier ?? '4k';
}

/** The table entry for a `<w>x<h>` text, for vendors that use ratios and tiers; undefined if there is none. */
export function sizeOfPixels(text: string): { size: ImageSize; resolution: Resolution } | undefined {
  return BY_PIXELS.get(text);
}

/** Whether a text is a ratio or `auto`; for `<w>x<h>`, use `parsePixelSize`. */
export function isImageSize(text: string): text is ImageSize {
  return (IMAGE_SIZES as readonly string[]).includes(text);
}

const PIXEL_SIZE = /^([1-9]\d{0,8})x([1-9]\d{0,8})$/;

/** Parses `<w>x<h>`; undefined if the text does not have that form. */
export function parsePixelSize(text: string): Pixels | undefined {
  const match = PIXEL_SIZE.exec(text);
  return match ? { width: Number(match[1]), height: Number(match[2]) } : undefined;
}

const MIN_EDGE = 64;
const MAX_EDGE = 3_840;
const MAX_RATIO = 3;
const MAX_PIXELS = 8_294_400;

/** Limits of the result's pixels. */
export const PIXEL_LIMITS = { min_edge: MIN_EDGE, max_edge: MAX_EDGE, max_ratio: MAX_RATIO, max_pixels: MAX_PIXELS };

/** Describes the pixel sizes that `size` accepts, as part of a sentence. */
export const PIXEL_FORM = `<width>x<height> with edges of ${MIN_EDGE} to ${MAX_EDGE} pixels, a ratio of at most ${MAX_RATIO}:1 and at most ${MAX_PIXELS} pixels`;

/** The first pixel limit that this size breaks, as part of a sentence; undefined if it breaks none. */
export function brokenPixelRule({ width, height }: Pixels): string | undefined {
  const short = Math.min(width, height);
  const long = Math.max(width, height);
  if (short < MIN_EDGE) return `the shortest edge must be at least ${MIN_EDGE} pixels`;
  if (long > MAX_EDGE) return `the longest edge must be at most ${MAX_EDGE} pixels`;
  if (long > MAX_RATIO * short) return `the aspect ratio must be at most ${MAX_RATIO}:1`;
  if (width * height > MAX_PIXELS) return `the image must have at most ${MAX_PIXELS} pixels`;
  return undefined;
}
