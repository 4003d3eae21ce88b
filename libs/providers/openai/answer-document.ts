import type { ImageUsage } from '#contract/image-usage.js';
import type { ErrorFields } from '../http/failures.js';
import { readAnswer } from '../http/json-answer.js';
import { textAt, valueAt, valueOf } from '../http/json-value.js';
import { tokenUsage } from '../http/token-usage.js';

/** What is taken out of one JSON document: an answer, an event of a stream, or an error. */
export interface AnswerDocument {
  /** Name of the event, in streams. */
  readonly type: string | undefined;
  /** The first image, decoded, in pieces; undefined when it has none. */
  readonly image: readonly Buffer[] | undefined;
  readonly url: string | undefined;
  /** Whether there is an entry for an image, whatever is in it. */
  readonly hasEntry: boolean;
  readonly partialIndex: number | undefined;
  readonly error: ErrorFields | undefined;
  readonly usage: ImageUsage | undefined;
}

/**
 * Reads JSON while it arrives, its images decoded piece by piece.
 * Throws what the source throws, AnswerTooLarge, or UnusableAnswer when it is no JSON.
 */
export async function readDocument(source: AsyncIterable<Buffer>, maxImageBytes: number): Promise<AnswerDocument> {
  const answer = await readAnswer(source, maxImageBytes);
  const value = valueOf(answer);
  const url = textAt(value, 'data', 0, 'url');
  // An image in the place of its address.
  const inPlace = url !== undefined && (url.startsWith('data:') || answer.isLong(url));
  const base64 = textAt(value, 'b64_json') ?? textAt(value, 'data', 0, 'b64_json') ?? (inPlace ? url : undefined);
  const index = valueAt(value, 'partial_image_index');
  return {
    type: textAt(value, 'type'),
    image: base64 === undefined ? undefined : answer.bytesOf(base64),
    url: base64 === undefined ? url : undefined,
    hasEntry: (valueAt(value, 'data', 0) ?? undefined) !== undefined,
    partialIndex: typeof index === 'number' ? index : undefined,
    error: errorOf(valueAt(value, 'error')),
    usage: tokenUsage((name) => valueAt(value, 'usage', ...name.split('.'))),
  };
}

/** Some servers write an object, some a text. */
function errorOf(error: unknown): ErrorFields | undefined {
  if (typeof error !== 'string' && (typeof error !== 'object' || error === null)) return undefined;
  const word = (name: string): string | undefined => {
    const found = valueAt(error, name);
    return typeof found === 'string' || typeof found === 'number' ? String(found) : undefined;
  };
  return { type: word('type'), code: word('code'), param: word('param') };
}
