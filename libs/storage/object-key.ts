/** Names of objects. Segments are ours (ids, counters, fixed words), so a key never needs escaping. */
const KEY = /^[A-Za-z0-9_-]+(\/[A-Za-z0-9_.-]+)+$/;

/** A reference image that a caller sent along with a request. */
export function inputKey(taskId: string, index: number | 'mask'): string {
  return `inputs/${taskId}/${index}`;
}

/** A finished picture. The attempt is part of it, so a late writer never overwrites the winner. */
export function resultKey(taskId: string, attempt: number, extension: 'png' | 'jpeg' | 'webp'): string {
  return `results/${taskId}-${attempt}.${extension}`;
}

/** Throws on a key that no function of this file makes. */
export function assertObjectKey(key: string): void {
  if (!KEY.test(key) || key.includes('..')) throw new Error('not an object key');
}
