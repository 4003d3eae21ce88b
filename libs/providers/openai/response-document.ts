import type { ImageUsage } from '#contract/image-usage.js';
import type { ErrorFields } from '../http/failures.js';
import type { NamedImage } from '../http/fetch-image.js';
import { readJsonResponse, type JsonResponse } from '../http/json-response.js';
import { textAt, valueAt, valueOf } from '../http/json-value.js';
import { tokenUsage } from '../http/token-usage.js';

/** The relevant parts of a JSON document: a response, an event of a stream, or an error. */
export interface ResponseDocument {
  /** Type of the event, in streams. */
  readonly type: string | undefined;
  readonly images: readonly NamedImage[];
  /** Whether there is an entry for an image, even an empty one. */
  readonly hasEntry: boolean;
  readonly partialIndex: number | undefined;
  readonly error: ErrorFields | undefined;
  /** The JSON itself, with placeholders for its images. */
  readonly value: unknown;
  readonly usage: ImageUsage | undefined;
}

/**
 * Reads JSON while it arrives, and decodes its images piece by piece. Throws the source's errors, ResponseTooLarge, or
 * UnusableResponse if it is not JSON.
 */
export async function readDocument(source: AsyncIterable<Buffer>, maxImageBytes: number): Promise<ResponseDocument> {
  const answer = await readJsonResponse(source, maxImageBytes);
  const value = valueOf(answer);
  const entries = valueAt(value, 'data');
  const listed = Array.isArray(entries) ? entries.flatMap((entry) => imageAt(entry, answer) ?? []) : [];
  const own = textAt(value, 'b64_json');
  const index = valueAt(value, 'partial_image_index');
  return {
    type: textAt(value, 'type'),
    images: own === undefined ? listed : [{ bytes: answer.bytesOf(own) }],
    hasEntry: (valueAt(value, 'data', 0) ?? undefined) !== undefined,
    partialIndex: typeof index === 'number' ? index : undefined,
    error: errorOf(valueAt(value, 'error')),
    value,
    usage: tokenUsage((name) => valueAt(value, 'usage', ...name.split('.'))),
  };
}

function imageAt(entry: unknown, answer: JsonResponse): NamedImage | undefined {
  const url = textAt(entry, 'url');
  // Some servers put the image itself in the URL field.
  const inPlace = url !== undefined && (url.startsWith('data:') || answer.isLong(url));
  const base64 = textAt(entry, 'b64_json') ?? (inPlace ? url : undefined);
  if (base64 !== undefined) return { bytes: answer.bytesOf(base64) };
  return url === undefined || url === '' ? undefined : { url };
}

/** Some servers send the error as an object, others as a string. */
export function errorOf(error: unknown): ErrorFields | undefined {
  if (typeof error !== 'string' && (typeof error !== 'object' || error === null)) return undefined;
  const word = (name: string): string | undefined => {
    const found = valueAt(error, name);
    return typeof found === 'string' || typeof found === 'number' ? String(found) : undefined;
  };
  return { type: word('type'), code: word('code'), param: word('param') };
}
