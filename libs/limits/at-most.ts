/**
 * Bounds an LRUCache to so many entries, without the memory for all of them from the start, as its `max` does: half a
 * megabyte for 10,000, in each of a process's dozen caches.
 */
export function atMost(entries: number): { readonly maxSize: number; readonly sizeCalculation: () => number } {
  return { maxSize: entries, sizeCalculation: () => 1 };
}
