const keys = new WeakMap<File, number>();
let last = 0;

/** A React key for a file: two may have the same name. */
export function keyOf(file: File): number {
  const known = keys.get(file);
  if (known !== undefined) return known;
  last += 1;
  keys.set(file, last);
  return last;
}
