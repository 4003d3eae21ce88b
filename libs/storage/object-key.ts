/** Form of object keys. We choose every segment (ids, counters, fixed words), so keys never need escaping. */
const KEY = /^[A-Za-z0-9_-]+(\/[A-Za-z0-9_.-]+)+$/;
const RESULT_FILE = /^[A-Za-z0-9_]+-\d{1,9}(?:-\d{1,2})?(?:\.thumb)?\.(png|jpeg|webp|gif|svg)$/;
const RESULTS = 'results/';
const UPLOADS = 'uploads/';
const OWNER = /^[^/]+\/([a-z]+_([0-9A-Z]{26}))/;

/** The formats of finished images. */
export const RESULT_EXTENSIONS = ['png', 'jpeg', 'webp', 'gif', 'svg'] as const;
export type ResultExtension = (typeof RESULT_EXTENSIONS)[number];

/** Key of a reference image sent with a request. */
export function inputKey(taskId: string, index: number | 'mask'): string {
  return `inputs/${taskId}/${index}`;
}

/** Key of a reference image that several requests can use. */
export function uploadKey(uploadId: string): string {
  return `${UPLOADS}${uploadId}`;
}

/**
 * Key of a finished image; index 0 is the first. It contains the attempt, so a late writer never overwrites the winner.
 */
export function resultKey(taskId: string, attempt: number, extension: ResultExtension, index = 0): string {
  return `${RESULTS}${taskId}-${attempt}${index === 0 ? '' : `-${index + 1}`}.${extension}`;
}

/** Key of a finished image's thumbnail, stored next to the image. */
export function thumbnailKey(imageKey: string): string {
  return `${imageKey.slice(0, imageKey.lastIndexOf('.'))}.thumb.webp`;
}

/** Throws on a key that does not have the form of object keys. */
export function assertObjectKey(key: string): void {
  if (!KEY.test(key) || key.includes('..')) throw new Error('not an object key');
}

/** File name in links to a finished image or its thumbnail. Throws on any other object: uploads are never served. */
export function resultFileName(key: string): string {
  const name = key.startsWith(RESULTS) ? key.slice(RESULTS.length) : '';
  if (!RESULT_FILE.test(name)) throw new Error('only results can be linked');
  return name;
}

/** Object key and media type for a file name in a link; undefined for a name that is never generated. */
export function resultOfFileName(name: string): { key: string; contentType: string } | undefined {
  const extension = RESULT_FILE.exec(name)?.[1];
  if (extension === undefined) return undefined;
  return { key: `${RESULTS}${name}`, contentType: extension === 'svg' ? 'image/svg+xml' : `image/${extension}` };
}

/** Owner of an object: the second segment of every key begins with the id of its task or upload. */
export function ownerOfKey(key: string): { id: string; ulid: string } {
  const [, id = '', ulid = ''] = OWNER.exec(key) ?? [];
  return { id, ulid };
}
