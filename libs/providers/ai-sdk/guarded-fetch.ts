import { refusal, unusable } from '../http/failures.js';
import { fetchPicture, MAX_PICTURE_BYTES, type PictureFetcher } from '../http/fetch-picture.js';
import { readJson } from '../http/json-value.js';
import type { Upstream, UpstreamAnswer } from '../http/upstream.js';
import type { ProviderError } from '../provider-error.js';
import type { Fetch, LibraryVendor } from './library-vendor.js';

/** Bytes of an answer at most: the library holds it whole, so a picture of 36 MB as base64. */
const MAX_ANSWER_BYTES = 48_000_000;
const MAX_ERROR_BYTES = 65_536;

interface Ways {
  readonly upstream: Upstream;
  /** Of the upstream, without a slash at the end. */
  readonly baseUrl: string;
  readonly fetcher: PictureFetcher;
  readonly vendor: LibraryVendor;
}

/**
 * The only way out for one call of the library. An order goes to the operator's server, once, with a key that the
 * library never sees; every other address is one of the vendor's answers and is opened as such, without any header.
 */
export class GuardedFetch {
  /** Whether the order was handed on, so that it may have been bought. */
  hasOrdered = false;

  constructor(
    private readonly ways: Ways,
    private readonly signal: AbortSignal,
  ) {}

  /** Throws ProviderError, which the library passes on, or the signal's reason. */
  readonly fetch: Fetch = async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    if (typeof init?.body === 'string') return this.order(url, init.body);
    return new Response(new Uint8Array(await this.picture(url)));
  };

  private async order(url: string, body: string): Promise<Response> {
    const { upstream, baseUrl } = this.ways;
    if (!url.startsWith(`${baseUrl}/`)) throw new Error('an order would have gone to another server');
    if (this.hasOrdered) throw new Error('an order would have been repeated');
    this.hasOrdered = true;
    const bytes = Buffer.from(body);
    return upstream.call(
      {
        path: url.slice(baseUrl.length),
        body: { contentType: 'application/json', bytes: bytes.length, pieces: [bytes] },
        accept: 'application/json',
        signal: this.signal,
        maxBytes: MAX_ANSWER_BYTES,
      },
      (answer) => this.read(answer),
    );
  }

  private async read(answer: UpstreamAnswer): Promise<Response> {
    if (answer.status >= 300) throw await this.refusalOf(answer);
    const pieces: Buffer[] = [];
    for await (const piece of answer.body) pieces.push(piece);
    return new Response(Buffer.concat(pieces), { headers: { 'content-type': answer.contentType } });
  }

  private async refusalOf({ status, retryAfter, body }: UpstreamAnswer): Promise<ProviderError> {
    // The status says enough, where the body breaks off or is no JSON.
    const value = await readJson(firstBytes(body)).catch(() => undefined);
    const said = this.ways.vendor.refusal(status, value);
    return refusal({ status: said.status ?? status, fields: said.fields, retryAfter: retryAfter ?? said.retryAfter });
  }

  private async picture(url: string): Promise<Buffer> {
    if (!url.startsWith('data:')) return fetchPicture(this.ways.fetcher, url, this.signal);
    const bytes = Buffer.from(url.slice(url.indexOf(',') + 1), 'base64');
    if (bytes.length > MAX_PICTURE_BYTES) throw unusable('the picture is too large');
    return bytes;
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
