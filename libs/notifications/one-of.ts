/** Narrows a text column's value to one of the names. Throws for any other value. */
export function oneOf<T extends string>(names: readonly T[], value: string): T {
  const found = names.find((name) => name === value);
  if (found === undefined) throw new Error(`The database holds ${value}, which is none of ${names.join(', ')}.`);
  return found;
}
