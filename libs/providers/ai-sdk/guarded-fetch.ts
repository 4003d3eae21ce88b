import { AnswerTooLarge } from '../http/base64-sink.js';
import { refusal, unusable } from '../http/failures.js';
import { fetchImage, MAX_IMAGE_BYTES } from '../http/fetch-image.js';
import type { ImageFetcher } from '../provider-descriptor.js';
import { readAnswer, type JsonAnswer } from '../http/json-answer.js';
import { readJson } from '../http/json-value.js';
import type { Upstream, UpstreamAnswer } from '../http/upstream.js';
import { ProviderError } from '../provider-error.js';
import type { Fetch, LibraryVendor } from './library-vendor.js';
import { ImagePlaceholders } from './image-placeholders.js';

/** Bytes of an answer at most: an image of 36 MB as base64. */
const MAX_ANSWER_BYTES = 48_000_000;
const MAX_ERROR_BYTES = 65_536;

interface Ways {
  readonly upstream: Upstream;
  /** Of the upstream, without a slash at the end. */
  readonly baseUrl: string;
  readonly fetcher: ImageFetcher;
  readonly vendor: LibraryVendor;
}

/**
 * The only way out for one call of the library. An order goes to the operator's server, once, with a key that the
 * library never sees; every other address is one of the vendor's answers and is opened as such, without any header.
 * Of images the library sees only names, on both ways.
 */
export class GuardedFetch {
  /** Whether the order was handed on, so that it may have been bought. */
  hasOrdered = false;
  readonly placeholders = new ImagePlaceholders();
  private answer: JsonAnswer | undefined;
  private hasFetched = false;

  constructor(
    private readonly ways: Ways,
    private readonly signal: AbortSignal,
  ) {}

  /** Throws ProviderError, which the library passes on, or the signal's reason. */
  readonly fetch: Fetch = async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    if (typeof init?.body === 'string') return this.order(url, init.body);
    // One image was ordered. Whatever else the answer names is not wanted.
    if (this.hasFetched) return new Response('');
    this.hasFetched = true;
    return new Response(this.placeholders.put(await this.image(url)));
  };

  /** An image as the library hands it over: a name, base64, or bytes that are a name. */
  imageOf(image: string | Uint8Array): readonly Buffer[] {
    const text = typeof image === 'string' ? image : Buffer.from(image).toString('latin1');
    return this.placeholders.find(text) ?? this.answer?.bytesOf(text) ?? [];
  }

  private async order(url: string, body: string): Promise<Response> {
    const { upstream, baseUrl } = this.ways;
    if (!url.startsWith(`${baseUrl}/`)) throw new Error('an order would have gone to another server');
    if (this.hasOrdered) throw new Error('an order would have been repeated');
    this.hasOrdered = true;
    const pieces = await this.placeholders.filled(body);
    const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0);
    return upstream.call(
      {
        path: url.slice(baseUrl.length),
        body: { contentType: 'application/json', bytes, pieces },
        accept: 'application/json',
        signal: this.signal,
        maxBytes: MAX_ANSWER_BYTES,
      },
      (answer) => this.read(answer),
    );
  }

  private async read(answer: UpstreamAnswer): Promise<Response> {
    if (answer.status >= 300) throw await this.refusalOf(answer);
    this.answer = await readAnswer(answer.body, MAX_IMAGE_BYTES).catch((error: unknown) => {
      if (error instanceof ProviderError) throw error;
      throw error instanceof AnswerTooLarge ? unusable('the image is too large', 'yes') : unusable('no JSON', 'maybe');
    });
    return new Response(this.answer.text, { headers: { 'content-type': answer.contentType } });
  }

  private async refusalOf({ status, retryAfter, body }: UpstreamAnswer): Promise<ProviderError> {
    // The status says enough, where the body breaks off or is no JSON.
    const value = await readJson(firstBytes(body)).catch(() => undefined);
    const said = this.ways.vendor.refusal(status, value);
    return refusal({ status: said.status ?? status, fields: said.fields, retryAfter: retryAfter ?? said.retryAfter });
  }

  private async image(url: string): Promise<readonly Buffer[]> {
    if (this.answer !== undefined && (url.startsWith('data:') || this.answer.isLong(url))) {
      return this.answer.bytesOf(url);
    }
    return [await fetchImage(this.ways.fetcher, url, this.signal)];
  }
}

async function* firstBytes(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > MAX_ERROR_BYTES) return;
    yield chunk;
  }
}
