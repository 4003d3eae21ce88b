/** Mixes two `#rrggbb` colors; share 0 is the first, 1 the second. */
export function mix(first: string, second: string, share: number): string {
  const channels = [1, 3, 5].map((at) => {
    const from = parseInt(first.slice(at, at + 2), 16);
    const to = parseInt(second.slice(at, at + 2), 16);
    return Math.round(from + (to - from) * Math.min(1, Math.max(0, share)))
      .toString(16)
      .padStart(2, '0');
  });
  return `#${channels.join('')}`;
}

/** Mixes a color with white; `share` 0 is the color, 1 is white. */
export function lighter(color: string, share: number): string {
  return mix(color, '#ffffff', share);
}

/** Mixes a color with black; `share` 0 is the color, 1 is black. */
export function darker(color: string, share: number): string {
  return mix(color, '#000000', share);
}
