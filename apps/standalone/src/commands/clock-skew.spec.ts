import { clockSkew } from './clock-skew.js';

/** A clock of which the local one reads these times, and the server another one. */
function compared(theirs: number, before: number, after: number): Promise<string> {
  const local = [before, after];
  return clockSkew(
    () => Promise.resolve(theirs),
    () => local.shift() ?? NaN,
  );
}

it('finds a clock that differs, either way', async () => {
  await expect(compared(6_010, 1_000, 1_020)).rejects.toThrow('by 5000 ms');
  await expect(compared(6_010, 11_000, 11_020)).rejects.toThrow('by -5000 ms');
  await expect(compared(NaN, 1_000, 1_020)).rejects.toThrow('synchronize');
  expect(await compared(1_510, 1_000, 1_020)).toBe('differs by 500 ms');
});

it('does not blame the clock for a server that answers slowly, whenever it has read it', async () => {
  for (const theirs of [1_000, 2_500, 4_000]) expect(await compared(theirs, 1_000, 4_000)).toMatch(/^differs by/);
  await expect(compared(9_000, 1_000, 4_000)).rejects.toThrow('by 6500 ms');
});
