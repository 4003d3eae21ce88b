/** What a text column holds that takes nothing but these. Throws for anything else. */
export function oneOf<T extends string>(names: readonly T[], value: string): T {
  const found = names.find((name) => name === value);
  if (found === undefined) throw new Error(`The database holds ${value}, which is none of ${names.join(', ')}.`);
  return found;
}
