/** Current image models don't know `standard` and `hd`, the quality names of older models. */
const QUALITIES: Readonly<Record<string, string>> = { standard: 'medium', hd: 'high' };

/** The quality in terms that providers know; adds a warning if the name changes. */
export function knownQuality(quality: string | undefined, warnings: string[]): string | undefined {
  const known = quality === undefined ? undefined : QUALITIES[quality];
  if (known === undefined) return quality;
  warnings.push(`The quality ${quality} was requested as ${known}.`);
  return known;
}
