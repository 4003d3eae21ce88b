import type { ByteRange } from '#storage/object-store.js';

/** One entity tag of a list; a weak one names the same bytes here. */
const TAG = /(?:W\/)?("[^"]*")/g;

/** Whether `If-None-Match` names the tag: alone, in a list, weakly, or by `*`. */
export function namesTag(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  return header.trim() === '*' || [...header.matchAll(TAG)].some(([, one]) => one === tag);
}

/**
 * The range that a request asks for, if it is one range of bytes and `If-Range`, if any, has the tag. Everything else
 * gets the whole image, as RFC 9110 allows: several ranges, other units, and what is no range.
 */
export function wantedRange(
  header: string | undefined,
  ifRange: string | undefined,
  tag: string,
): ByteRange | undefined {
  if (header === undefined || (ifRange !== undefined && ifRange.trim() !== tag)) return undefined;
  const [, first = '', last = ''] = /^\s*bytes\s*=\s*(\d{0,15})\s*-\s*(\d{0,15})\s*$/i.exec(header) ?? [];
  if (first === '') return last === '' ? undefined : { suffix: Number(last) };
  if (last === '') return { first: Number(first) };
  return Number(first) > Number(last) ? undefined : { first: Number(first), last: Number(last) };
}
