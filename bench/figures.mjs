/** `sorted` ascending; `share` 0..1; nearest rank. */
export function percentile(sorted, share) {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)];
}

export function median(values) {
  return percentile(
    [...values].sort((a, b) => a - b),
    0.5,
  );
}

/** Runs every side once per round, one after the other, so that all run under the same conditions. */
export async function inTurns(sides, rounds, run) {
  const results = new Map(sides.map((side) => [side, []]));
  for (let round = 0; round < rounds; round++) {
    for (const side of sides) results.get(side).push(await run(side, round));
  }
  return results;
}

/** The median of one figure over a side's rounds. */
export function medianOf(rounds, figure) {
  return median(rounds.map((round) => round[figure]));
}

export function milliseconds(value) {
  if (value === undefined) return '';
  return `${value >= 100 ? Math.round(value) : value >= 10 ? value.toFixed(1) : value.toFixed(2)} ms`;
}

export function seconds(value) {
  return `${(value / 1000).toFixed(2)} s`;
}

export function rate(value) {
  return `${Math.round(value).toLocaleString('en')}/s`;
}

export function megabytes(bytes) {
  return `${Math.round(bytes / 1e6)} MB`;
}

export function percent(share) {
  return `${Math.round(share * 100)} %`;
}

export function times(ratio) {
  return `${ratio.toFixed(2)} x`;
}
