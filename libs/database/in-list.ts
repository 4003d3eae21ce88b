/**
 * A list for Prisma's `in`, whose last value is repeated until its length is a power of two. Each length is a statement of
 * its own, which every connection keeps prepared: so there are a few of them instead of hundreds.
 */
export function inList<T>(values: readonly T[]): T[] {
  const last = values.at(-1);
  if (last === undefined) return [];
  const length = 2 ** Math.ceil(Math.log2(values.length));
  return [...values, ...Array.from({ length: length - values.length }, () => last)];
}
