/** The addresses in a pasted text, each once: one per line, separated by commas, or as `Ada <ada@example.org>`. */
export function addressesIn(text: string): string[] {
  const parts = text.split(/[\n,;]+/).flatMap((part) => {
    const named = /<([^<>]*)>\s*$/.exec(part)?.[1];
    return named === undefined ? part.split(/\s+/) : [named];
  });
  const found = new Map<string, string>();
  for (const part of parts.map((one) => one.trim())) {
    if (part !== '' && !found.has(part.toLowerCase())) found.set(part.toLowerCase(), part);
  }
  return [...found.values()];
}
