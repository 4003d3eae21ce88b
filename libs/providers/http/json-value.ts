/** An answer that is not what was promised: a proxy's page, or text that breaks off. */
export class UnusableAnswer extends Error {
  override readonly name = 'UnusableAnswer';
}

/** What lies at a path in parsed JSON; undefined when the path leads nowhere. */
export function valueAt(value: unknown, ...path: readonly (string | number)[]): unknown {
  let found = value;
  for (const step of path) {
    if (typeof found !== 'object' || found === null) return undefined;
    found = (found as Record<string | number, unknown>)[step];
  }
  return found;
}

/** The text at a path; undefined when there is none, or an empty one. */
export function textAt(value: unknown, ...path: readonly (string | number)[]): string | undefined {
  const found = valueAt(value, ...path);
  return typeof found === 'string' && found !== '' ? found : undefined;
}

/** Reads a whole answer. Throws UnusableAnswer when it is no JSON, and what the body throws. */
export async function readJson(body: AsyncIterable<Buffer>): Promise<unknown> {
  const pieces: Buffer[] = [];
  for await (const piece of body) pieces.push(piece);
  try {
    return JSON.parse(Buffer.concat(pieces).toString());
  } catch {
    // The parser quotes the text in its error.
    throw new UnusableAnswer('the answer is no JSON');
  }
}
