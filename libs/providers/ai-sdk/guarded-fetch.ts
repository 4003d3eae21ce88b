import { ResponseTooLarge } from '../http/base64-sink.js';
import { errorBody } from '../http/error-body.js';
import { refusal, unusable } from '../http/failures.js';
import {
  fetchImage,
  fetchImages,
  MAX_IMAGE_BYTES,
  maxAnswerBytes,
  maxImageBytes,
  untilPatienceEnds,
  type ImageDownload,
} from '../http/fetch-image.js';
import { imagesIn } from '../http/found-images.js';
import type { ImageFetcher } from '../provider-descriptor.js';
import { readJsonResponse, type JsonResponse } from '../http/json-response.js';
import { valueOf } from '../http/json-value.js';
import { type Upstream, type UpstreamResponse } from '../http/upstream.js';
import { ProviderError } from '../provider-error.js';
import type { Fetch, LibraryVendor } from './library-vendor.js';
import { ImagePlaceholders } from './image-placeholders.js';

/** Maximum bytes of a response with one image: 36 MB as base64. */
const MAX_ANSWER_BYTES = 48_000_000;

interface FetchDependencies {
  readonly upstream: Upstream;
  /** Of the upstream, without a trailing slash. */
  readonly baseUrl: string;
  readonly fetcher: ImageFetcher;
  readonly vendor: LibraryVendor;
  /** As in UpstreamSettings. */
  readonly imagePatienceMs: number | undefined;
}

/**
 * The `fetch` for one call of the library. It sends the order to the configured server, once, with a key that the
 * library never sees. All other URLs come from the vendor's response and are fetched without headers. In both
 * directions, the library sees placeholders instead of images.
 */
export class GuardedFetch {
  /** Whether the order was sent, so that it may be charged. */
  hasOrdered = false;
  readonly placeholders = new ImagePlaceholders();
  /** Why an image could not be downloaded. */
  failure: ProviderError | undefined;
  /** The vendor's JSON as the library reads it, with placeholders for its images. */
  value: unknown;
  private answer: JsonResponse | undefined;
  /** Number of images that the library requested, and how many bytes the next ones may have. */
  private fetched = 0;
  private left: number;
  /** When failed downloads are no longer tried again; set by the first download. */
  private until: number | undefined;
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly dependencies: FetchDependencies,
    private readonly n: number,
    private readonly signal: AbortSignal,
  ) {
    this.left = maxImageBytes(n);
  }

  /** Throws ProviderError, which the library passes on, or the signal's reason. */
  readonly fetch: Fetch = async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    if (typeof init?.body === 'string') return this.order(url, init.body);
    // Only as many images are downloaded as were ordered.
    this.fetched += 1;
    return new Response(this.fetched > this.n ? '' : await this.named(url));
  };

  /**
   * The image for a value from the library: a placeholder, base64, or a placeholder's bytes. Undefined if it could not
   * be downloaded.
   */
  imageOf(image: string | Uint8Array): Buffer | undefined {
    const text = typeof image === 'string' ? image : Buffer.from(image).toString('latin1');
    if (text === '') return undefined;
    return this.placeholders.find(text) ?? this.answer?.bytesOf(text);
  }

  /** The images of a response that the library can't read, at most `n`; none if it has already fetched some. */
  async found(): Promise<readonly Buffer[]> {
    if (this.answer === undefined || this.fetched > 0) return [];
    const named = imagesIn(this.value, this.answer).slice(0, this.n);
    return named.length === 0 ? [] : fetchImages(this.download(), named);
  }

  /**
   * Downloads an image and returns its placeholder, or '' if it fails. The library requests all images at once; they
   * are downloaded one after the other.
   */
  private named(url: string): Promise<string> {
    const name = this.last.then(async () => {
      try {
        const image = await this.image(url);
        this.left -= image.length;
        return this.placeholders.put(image);
      } catch (error) {
        this.signal.throwIfAborted();
        if (!(error instanceof ProviderError)) throw error;
        this.failure ??= error;
        return '';
      }
    });
    this.last = name.catch(() => undefined);
    return name;
  }

  private async order(url: string, body: string): Promise<Response> {
    const { upstream, baseUrl } = this.dependencies;
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
        maxBytes: maxAnswerBytes(this.n, MAX_ANSWER_BYTES),
      },
      (answer) => this.read(answer),
    );
  }

  private async read(answer: UpstreamResponse): Promise<Response> {
    if (answer.status >= 300) throw await this.refusalOf(answer);
    const answerJson = await readJsonResponse(answer.body, MAX_IMAGE_BYTES, answer.announced).catch(
      (error: unknown) => {
        if (error instanceof ProviderError) throw error;
        throw error instanceof ResponseTooLarge
          ? unusable('the image is too large', 'yes')
          : unusable('no JSON', 'maybe');
      },
    );
    this.answer = answerJson;
    return new Response(this.readable(answerJson), { headers: { 'content-type': 'application/json' } });
  }

  private readable(answer: JsonResponse): string {
    const { readable } = this.dependencies.vendor;
    try {
      const value = valueOf(answer);
      this.value = readable === undefined ? value : readable(value);
    } catch {
      // The library says what is wrong with it.
      return answer.text;
    }
    return readable === undefined ? answer.text : JSON.stringify(this.value);
  }

  private async refusalOf({ status, retryAfter, body }: UpstreamResponse): Promise<ProviderError> {
    const { upstream, vendor } = this.dependencies;
    const { isJson, value } = await errorBody(body);
    const said = vendor.refusal(status, isJson ? value : undefined);
    return refusal({
      status,
      meaning: said.status,
      fields: said.fields,
      retryAfter: retryAfter ?? said.retryAfter,
      body: value,
      said: upstream.said(value),
    });
  }

  private async image(url: string): Promise<Buffer> {
    if (this.answer !== undefined && (url.startsWith('data:') || this.answer.isLong(url))) {
      return this.answer.bytesOf(url);
    }
    return fetchImage(this.download(), url, Math.min(this.left, MAX_IMAGE_BYTES));
  }

  private download(): ImageDownload {
    const { fetcher, baseUrl, imagePatienceMs } = this.dependencies;
    this.until ??= untilPatienceEnds(imagePatienceMs);
    return { fetcher, baseUrl, signal: this.signal, until: this.until };
  }
}
