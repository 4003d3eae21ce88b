import { readAnswer, UnusableAnswer, type JsonAnswer } from './json-answer.js';

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

/** Throws UnusableAnswer when it is no JSON. */
export function valueOf({ text }: JsonAnswer): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser quotes the text in its error.
    throw new UnusableAnswer('the answer is no JSON');
  }
}

/** Reads a whole answer that has no image in it. Throws UnusableAnswer when it is no JSON, and what the body throws. */
export async function readJson(body: AsyncIterable<Buffer>): Promise<unknown> {
  return valueOf(await readAnswer(body, Infinity));
}
