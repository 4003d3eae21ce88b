/**
 * Bounds an LRUCache to so many entries, without the memory for all of them from the start, as its `max` does: 0.4 MB
 * for 10,000 with a time limit.
 */
export function atMost(entries: number): { readonly maxSize: number; readonly sizeCalculation: () => number } {
  return { maxSize: entries, sizeCalculation: () => 1 };
}
