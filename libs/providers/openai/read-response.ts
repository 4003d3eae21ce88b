import type { ImageUsage } from '#contract/image-usage.js';
import { parsePixelSize } from '#contract/pixel-table.js';
import { begun, ByteCollector } from '#bytes/bytes.js';
import { ResponseTooLarge } from '../http/base64-sink.js';
import { errorBody, errorOf, errorWords, fieldsOf, messageOf, unwrapped } from '../http/error-body.js';
import { errorInside, isRefusal, refusal, unusable } from '../http/failures.js';
import { maxImageBytes, type NamedImage } from '../http/fetch-image.js';
import { isImage } from '../http/found-images.js';
import { textAt, valueAt } from '../http/json-value.js';
import { usageOfBoth } from '../http/token-usage.js';
import { type Upstream, type UpstreamResponse } from '../http/upstream.js';
import type { ProviderCallContext } from '../image-provider.js';
import { ProviderError } from '../provider-error.js';
import { readDocument, type ResponseDocument } from './response-document.js';
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
  readonly onPartial: ProviderCallContext['onPartial'];
  readonly said: Upstream['said'];
  /** What the request calls a field that an error of the server names. */
  readonly callerField: (field: string) => string | undefined;
}

/** Statuses with which servers reject unknown fields. */
const FIELD_REFUSED: ReadonlySet<number> = new Set([400, 422, 501]);
/** Words of servers that reject streaming, or fields that they don't know. */
const ABOUT_STREAMS =
  /stream|partial|unknown|unrecogni|unexpected|unsupported|not support|extra|additional|not permitted/i;
/** First bytes that tell an image, events and JSON apart. */
const HEAD_BYTES = 16;

/** Throws ProviderError if there is no image, and the body's error if it breaks off. */
export async function readResponse(answer: UpstreamResponse, options: ReadingOptions): Promise<ResponseImages> {
  if (answer.status < 200 || answer.status >= 300) throw await readRefusal(answer, options);
  // The response's type decides, not the request: many servers don't support streams and send JSON anyway.
  if (answer.contentType === 'text/event-stream') return readStream(answer, options);
  const { head, whole: body } = await begun(answer.body, HEAD_BYTES);
  if (isImage(head)) return readRawImage({ ...answer, body }, options);
  if (/^\s*(data|event|id|retry)?:/.test(head.toString('latin1'))) return readStream({ ...answer, body }, options);
  const document = await readOrRefuse({ ...answer, body }, options.maxImageBytes);
  if (document.images.length === 0) return throwNoImage(document, options);
  return { images: document.images.slice(0, options.n), usage: document.usage };
}

/** Some servers send the image itself. */
async function readRawImage(
  { body, announced }: UpstreamResponse,
  { maxImageBytes }: ReadingOptions,
): Promise<ResponseImages> {
  const collected = new ByteCollector(announced);
  for await (const piece of body) {
    collected.add(piece);
    if (collected.bytes > maxImageBytes) throw unusable('the image is too large', 'yes');
  }
  return { images: [{ bytes: await collected.joined() }], usage: undefined };
}

/** Each image is a separate event; if the stream ends early, the images received so far are the result. */
async function readStream(answer: UpstreamResponse, options: ReadingOptions): Promise<ResponseImages> {
  const images: NamedImage[] = [];
  let [usage, left]: [ImageUsage | undefined, number] = [undefined, maxImageBytes(options.n)];
  try {
    for await (const document of readEvents(answer, options)) {
      left -= document.images.reduce((sum, { bytes }) => sum + (bytes?.length ?? 0), 0);
      if (left < 0 && images.length > 0) break;
      images.push(...document.images.slice(0, options.n - images.length));
      usage = usageOfBoth(usage, document.usage);
      if (images.length >= options.n) break;
    }
  } catch (error) {
    if (images.length === 0 || !(error instanceof ProviderError)) throw error;
  }
  return { images, usage };
}

/** Yields the events with images, at least one; passes partial images on. */
async function* readEvents(answer: UpstreamResponse, options: ReadingOptions): AsyncGenerator<ResponseDocument> {
  let partials = 0;
  let images = 0;
  for await (const event of splitEvents(answer.body)) {
    const document = await readOrRefuse({ ...answer, body: event, announced: 0 }, options.maxImageBytes);
    if (document.type?.endsWith('.partial_image') === true) {
      const index = document.partialIndex ?? partials;
      partials += 1;
      const [partial] = document.images;
      if (partial?.bytes !== undefined) options.onPartial(partial.bytes, index, pixelsIn(document.value));
      continue;
    }
    if (document.images.length > 0) {
      images += 1;
      yield document;
    } else if (document.error !== undefined || document.type === 'error') {
      const body = document.error ?? document.value;
      throw errorInside(body, options.said(body), partials === 0 ? 'no' : 'maybe');
    }
  }
  if (images === 0) throw unusable('the stream ended without an image', partials === 0 ? 'no' : 'maybe');
}

/** The size that an event names, unless that is `auto`. */
function pixelsIn(event: unknown): string | undefined {
  const size = textAt(event, 'size');
  return size !== undefined && parsePixelSize(size) !== undefined ? size : undefined;
}

/** What a missing image may have cost: an empty entry means that it was generated. */
const MISSING = { 'empty entry': 'yes', 'not listed': 'no', unknown: 'maybe' } as const;

function throwNoImage({ error, missing, value }: ResponseDocument, { said }: ReadingOptions): never {
  // A server that blocks one image of several has generated it.
  const blockedCharge = error === undefined || error === value ? 'no' : 'maybe';
  if (error !== undefined) throw errorInside(error, said(error), blockedCharge);
  if (missing !== 'empty entry' && isRefusal(value)) throw errorInside(value, said(value));
  throw unusable('the answer has no image', MISSING[missing]);
}

/** Passes network failures on; any other failure means an invalid response. */
async function readOrRefuse(
  { body, contentType, announced }: UpstreamResponse,
  maxImageBytes: number,
): Promise<ResponseDocument> {
  try {
    return await readDocument(body, maxImageBytes, announced);
  } catch (error) {
    if (error instanceof ProviderError) throw error;
    if (error instanceof ResponseTooLarge) throw unusable('the image is too large', 'yes');
    // A page is of something that stands in front of the server; whatever else came may have been the image.
    throw unusable('the answer is no JSON', contentType === 'text/html' ? 'no' : 'maybe');
  }
}

async function readRefusal(
  { status, retryAfter, body }: UpstreamResponse,
  { streamed, said, callerField }: ReadingOptions,
): Promise<ProviderError> {
  const { isJson, value } = await errorBody(body);
  const isOwnFormat = isJson && errorOf(valueAt(unwrapped(value), 'error')) !== undefined;
  const isKnown = status < 500 ? isJson : isOwnFormat;
  const fields = isKnown ? fieldsOf(value) : undefined;
  const error = refusal({ status, fields, body: value, retryAfter, said: said(value), callerField });
  if (!streamed || !FIELD_REFUSED.has(status) || error.code !== 'upstream_error') return error;
  const isNamed = fields?.param === 'stream' || fields?.param === 'partial_images';
  const words = [messageOf(value) ?? '', ...errorWords(value).names].join(' ').trim();
  // A refusal of the prompt would only be repeated without a stream.
  if (!isNamed && status !== 501 && words !== '' && !ABOUT_STREAMS.test(words)) return error;
  return new StreamRefused(isNamed, error);
}
