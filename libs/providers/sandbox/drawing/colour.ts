/** Mixes two `#rrggbb` colours; share 0 is the first, 1 the second. */
export function mix(first: string, second: string, share: number): string {
  const channels = [1, 3, 5].map((at) => {
    const [from, to] = [parseInt(first.slice(at, at + 2), 16), parseInt(second.slice(at, at + 2), 16)];
    return Math.round(from + (to - from) * Math.min(1, Math.max(0, share)))
      .toString(16)
      .padStart(2, '0');
  });
  return `#${channels.join('')}`;
}

/** Mixed with white; `share` 0 leaves the colour, 1 is white. */
export function lighter(colour: string, share: number): string {
  return mix(colour, '#ffffff', share);
}

/** Mixed with black; `share` 0 leaves the colour, 1 is black. */
export function darker(colour: string, share: number): string {
  return mix(colour, '#000000', share);
}
