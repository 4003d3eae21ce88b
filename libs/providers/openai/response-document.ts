import type { ImageUsage } from '#contract/image-usage.js';
import { imagesIn, listedEntries, type ImageEntry } from '../http/found-images.js';
import type { NamedImage } from '../http/fetch-image.js';
import { readJsonResponse, UnusableResponse, type JsonResponse } from '../http/json-response.js';
import { textAt, valueAt, valueOf } from '../http/json-value.js';
import { tokenUsage } from '../http/token-usage.js';

/** The relevant parts of a JSON document: a response, an event of a stream, or an error. */
export interface ResponseDocument {
  /** Type of the event, in streams. */
  readonly type: string | undefined;
  readonly images: readonly NamedImage[];
  /** What a missing image means: there is none, its entry is empty, or something else may be one. */
  readonly missing: 'not listed' | 'empty entry' | 'unknown';
  readonly partialIndex: number | undefined;
  /** The JSON with the error of the response, or of the first entry that has one. */
  readonly error: unknown;
  readonly value: unknown;
  readonly usage: ImageUsage | undefined;
}

/**
 * Reads JSON while it arrives, and decodes its images piece by piece (`announced`: length of the source, or 0); several documents, one per line, count as one.
 * Throws the source's errors, ResponseTooLarge, or UnusableResponse if it is not JSON.
 */
export async function readDocument(
  source: AsyncIterable<Buffer>,
  maxImageBytes: number,
  announced: number,
): Promise<ResponseDocument> {
  const answer = await readJsonResponse(source, maxImageBytes, announced);
  const documents = valuesOf(answer).map((value) => documentOf(value, answer));
  const [first] = documents;
  if (first === undefined) throw new UnusableResponse('the answer is empty');
  const whole = documents.filter(({ type }) => type?.endsWith('.partial_image') !== true);
  const last = whole.at(-1) ?? first;
  return documents.length === 1
    ? first
    : {
        ...last,
        images: whole.flatMap(({ images }) => images),
        error: whole.find(({ error }) => error !== undefined)?.error,
        usage: whole.map(({ usage }) => usage).findLast((usage) => usage !== undefined),
      };
}

/** The JSON of a response, or of each of its lines. */
function valuesOf(answer: JsonResponse): unknown[] {
  try {
    return [valueOf(answer)];
  } catch (error) {
    const lines = answer.text.split('\n').filter((line) => line.trim() !== '');
    if (lines.length < 2) throw error;
    return lines.map((line) => valueOf({ text: line }));
  }
}

function documentOf(value: unknown, answer: JsonResponse): ResponseDocument {
  const entries = listedEntries(value, answer);
  const listed = entries.flatMap(({ images }) => images);
  const own = textAt(value, 'b64_json');
  const index = valueAt(value, 'partial_image_index');
  return {
    type: textAt(value, 'type'),
    images:
      own === undefined ? (listed.length > 0 ? listed : imagesIn(value, answer)) : [{ bytes: answer.bytesOf(own) }],
    missing: missingIn(value, entries, answer),
    partialIndex: typeof index === 'number' ? index : undefined,
    error: errorIn(value, entries),
    value,
    usage: tokenUsage(valueAt(value, 'usage'), valueAt(value, 'svg_usage')),
  };
}

function missingIn(value: unknown, entries: readonly ImageEntry[], answer: JsonResponse): ResponseDocument['missing'] {
  const data = valueAt(value, 'data');
  if (Array.isArray(data)) return entries.some(({ error }) => error === undefined) ? 'empty entry' : 'not listed';
  // A string as long as an image, or a link, may be one in a place where it is not looked for.
  return answer.hasLong || answer.text.includes('://') ? 'unknown' : 'not listed';
}

/** Some servers send the error as an object, others as a text; some, one for each image. */
function errorIn(value: unknown, entries: readonly ImageEntry[]): unknown {
  if (isError(valueAt(value, 'error'))) return value;
  const entry = entries.find(({ error, images }) => images.length === 0 && isError(error));
  return entry && { error: entry.error };
}

function isError(error: unknown): boolean {
  return typeof error === 'string' ? error !== '' : typeof error === 'object' && error !== null;
}
