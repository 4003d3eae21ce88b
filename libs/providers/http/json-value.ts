import { readJsonResponse, UnusableResponse, type JsonResponse } from './json-response.js';

/** The value at a path in parsed JSON; undefined if the path does not exist. */
export function valueAt(value: unknown, ...path: readonly (string | number)[]): unknown {
  let found = value;
  for (const step of path) {
    if (typeof found !== 'object' || found === null) return undefined;
    found = (found as Record<string | number, unknown>)[step];
  }
  return found;
}

/** The string at a path; undefined if there is none or it is empty. */
export function textAt(value: unknown, ...path: readonly (string | number)[]): string | undefined {
  const found = valueAt(value, ...path);
  return typeof found === 'string' && found !== '' ? found : undefined;
}

/** Throws UnusableResponse if it is not JSON. */
export function valueOf({ text }: Pick<JsonResponse, 'text'>): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's error quotes the text.
    throw new UnusableResponse('the answer is no JSON');
  }
}

/** Reads a whole response without images. Throws UnusableResponse if it is not JSON, and the body's errors. */
export async function readJson(body: AsyncIterable<Buffer>): Promise<unknown> {
  return valueOf(await readJsonResponse(body, Infinity));
}
