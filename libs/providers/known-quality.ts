/** Today's image models know no `standard` and `hd`, which older ones called their qualities. */
const QUALITIES: Readonly<Record<string, string>> = { standard: 'medium', hd: 'high' };

/** The quality in a word that providers know; adds a warning when it is another one. */
export function knownQuality(quality: string | undefined, warnings: string[]): string | undefined {
  const known = quality === undefined ? undefined : QUALITIES[quality];
  if (known === undefined) return quality;
  warnings.push(`The quality ${quality} was asked for as ${known}.`);
  return known;
}
