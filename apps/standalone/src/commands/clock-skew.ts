const MAX_SKEW_MS = 1_000;

/**
 * Compares a server's clock, in ms since the epoch, with the local one at the middle of the round trip. Throws if they
 * differ by more than a second and than a slow round trip can explain.
 */
export async function clockSkew(theirs: () => Promise<number>, now = Date.now): Promise<string> {
  // Opens the connection.
  await theirs();
  const before = now();
  const their = await theirs();
  const after = now();
  const difference = Math.round(their - (before + after) / 2);
  if (!(Math.abs(difference) - (after - before) / 2 < MAX_SKEW_MS))
    throw new Error(`differs from this machine's by ${difference} ms; synchronize both with a time server`);
  return `differs by ${Math.abs(difference)} ms`;
}
