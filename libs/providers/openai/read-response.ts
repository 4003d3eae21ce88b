import type { ImageUsage } from '#contract/image-usage.js';
import { joined } from '#bytes/bytes.js';
import { ResponseTooLarge } from '../http/base64-sink.js';
import { errorInside, refusal, unusable } from '../http/failures.js';
import { lengthOf, maxImageBytes, type NamedImage } from '../http/fetch-image.js';
import { valueAt } from '../http/json-value.js';
import { tokenUsage } from '../http/token-usage.js';
import { errorBody, type Upstream, type UpstreamResponse } from '../http/upstream.js';
import { ProviderError } from '../provider-error.js';
import { errorOf, readDocument, type ResponseDocument } from './response-document.js';
import { splitEvents } from './response-events.js';
import { StreamRefused } from './stream-refused.js';

/** Images, at least one, and their usage. */
export interface ResponseImages {
  readonly images: readonly NamedImage[];
  readonly usage: ImageUsage | undefined;
}

interface ReadingOptions {
  /** Number of images requested; further ones are dropped. */
  readonly n: number;
  /** Whether partial images were requested. */
  readonly streamed: boolean;
  readonly maxImageBytes: number;
  readonly onPartial: (image: Buffer, index: number) => void;
  readonly messageIn: Upstream['messageIn'];
}

/** Statuses with which servers reject unknown fields. */
const FIELD_REFUSED: ReadonlySet<number> = new Set([400, 422, 501]);

/** Throws ProviderError if there is no image, and the body's error if it breaks off. */
export async function readResponse(answer: UpstreamResponse, options: ReadingOptions): Promise<ResponseImages> {
  if (answer.status !== 200) throw await readRefusal(answer, options);
  // The response's type decides, not the request: many servers don't support streams and send JSON anyway.
  if (answer.contentType === 'text/event-stream') return readStream(answer, options);
  const document = await readOrRefuse(answer.body, options.maxImageBytes);
  if (document.images.length === 0) return throwNoImage(document, options);
  return { images: document.images.slice(0, options.n), usage: document.usage };
}

/** Each image is a separate event; if the stream ends early, the images received so far are the result. */
async function readStream(answer: UpstreamResponse, options: ReadingOptions): Promise<ResponseImages> {
  const images: NamedImage[] = [];
  let [usage, left]: [ImageUsage | undefined, number] = [undefined, maxImageBytes(options.n)];
  try {
    for await (const document of readEvents(answer, options)) {
      left -= document.images.reduce((sum, { bytes = [] }) => sum + lengthOf(bytes), 0);
      if (left < 0 && images.length > 0) break;
      images.push(...document.images.slice(0, options.n - images.length));
      usage = sumOf(usage, document.usage);
      if (images.length >= options.n) break;
    }
  } catch (error) {
    if (images.length === 0 || !(error instanceof ProviderError)) throw error;
  }
  return { images, usage };
}

/** Yields the events with images, at least one; passes partial images on. */
async function* readEvents(answer: UpstreamResponse, options: ReadingOptions): AsyncGenerator<ResponseDocument> {
  let [partials, images] = [0, 0];
  for await (const event of splitEvents(answer.body)) {
    const document = await readOrRefuse(event, options.maxImageBytes);
    if (document.type?.endsWith('.partial_image') === true) {
      const index = document.partialIndex ?? partials;
      partials += 1;
      const [partial] = document.images;
      if (partial?.bytes !== undefined) options.onPartial(await joined(partial.bytes), index);
      continue;
    }
    if (document.images.length > 0) {
      images += 1;
      yield document;
    } else if (document.error !== undefined || document.type === 'error') {
      throw errorInside(document.error ?? {}, options.messageIn(document.value));
    }
  }
  if (images === 0) throw unusable('the stream ended without an image', partials === 0 ? 'no' : 'maybe');
}

/** Each event reports the usage of its own image. */
function sumOf(one: ImageUsage | undefined, other: ImageUsage | undefined): ImageUsage | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return tokenUsage((name) => {
    const [a, b] = [one, other].map((usage) => valueAt(usage, ...name.split('.')));
    return typeof a === 'number' && typeof b === 'number' ? a + b : undefined;
  });
}

/** An empty image entry means that the image was generated and charged; without an entry, nothing was. */
function throwNoImage({ error, hasEntry, value }: ResponseDocument, { messageIn }: ReadingOptions): never {
  if (error !== undefined) throw errorInside(error, messageIn(value));
  throw unusable('the answer has no image', hasEntry ? 'yes' : 'no');
}

/** Passes network failures on; any other failure means an invalid response. */
async function readOrRefuse(source: AsyncIterable<Buffer>, maxImageBytes: number): Promise<ResponseDocument> {
  try {
    return await readDocument(source, maxImageBytes);
  } catch (error) {
    if (error instanceof ProviderError) throw error;
    if (error instanceof ResponseTooLarge) throw unusable('the image is too large', 'yes');
    throw unusable('the answer is no JSON');
  }
}

async function readRefusal(
  { status, retryAfter, body }: UpstreamResponse,
  { streamed, messageIn }: ReadingOptions,
): Promise<ProviderError> {
  const { isJson, value } = await errorBody(body);
  const fields = isJson ? errorOf(valueAt(value, 'error')) : undefined;
  const error = refusal({ status, fields, retryAfter, providerMessage: messageIn(value) });
  if (!streamed || !FIELD_REFUSED.has(status) || error.code !== 'upstream_error') return error;
  return new StreamRefused(fields?.param === 'stream' || fields?.param === 'partial_images', error);
}
