/** Names of objects. Segments are ours (ids, counters, fixed words), so a key never needs escaping. */
const KEY = /^[A-Za-z0-9_-]+(\/[A-Za-z0-9_.-]+)+$/;
const RESULT_FILE = /^[A-Za-z0-9_]+-\d{1,9}(?:-\d{1,2})?(?:\.thumb)?\.(png|jpeg|webp|gif)$/;
const RESULTS = 'results/';
const UPLOADS = 'uploads/';
const OWNER = /^[^/]+\/([a-z]+_([0-9A-Z]{26}))/;

export type ResultExtension = 'png' | 'jpeg' | 'webp' | 'gif';

/** A reference image that a caller sent along with a request. */
export function inputKey(taskId: string, index: number | 'mask'): string {
  return `inputs/${taskId}/${index}`;
}

/** A reference image kept for several requests. */
export function uploadKey(uploadId: string): string {
  return `${UPLOADS}${uploadId}`;
}

/** A finished image, the first (0) or a further one. The attempt is part of it, so a late writer never overwrites the winner. */
export function resultKey(taskId: string, attempt: number, extension: ResultExtension, index = 0): string {
  return `${RESULTS}${taskId}-${attempt}${index === 0 ? '' : `-${index + 1}`}.${extension}`;
}

/** The small copy of a finished image, beside it. */
export function thumbnailKey(imageKey: string): string {
  return `${imageKey.slice(0, imageKey.lastIndexOf('.'))}.thumb.webp`;
}

/** Throws on a key that no function of this file makes. */
export function assertObjectKey(key: string): void {
  if (!KEY.test(key) || key.includes('..')) throw new Error('not an object key');
}

/** The name under which a finished image, or its small copy, is linked. Throws on any other object: uploads are never served. */
export function resultFileName(key: string): string {
  const name = key.startsWith(RESULTS) ? key.slice(RESULTS.length) : '';
  if (!RESULT_FILE.test(name)) throw new Error('only results can be linked');
  return name;
}

/** The object behind a linked name, with the type it was encoded as; undefined for a name we never make. */
export function resultOfFileName(name: string): { key: string; contentType: string } | undefined {
  const extension = RESULT_FILE.exec(name)?.[1];
  return extension === undefined ? undefined : { key: `${RESULTS}${name}`, contentType: `image/${extension}` };
}

/** Who an object belongs to: the second segment of every key begins with the id of its task or upload. */
export function ownerOfKey(key: string): { id: string; ulid: string } {
  const [, id = '', ulid = ''] = OWNER.exec(key) ?? [];
  return { id, ulid };
}
