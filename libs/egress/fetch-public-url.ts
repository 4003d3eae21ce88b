import { Injectable, Optional } from '@nestjs/common';
import { request, type Dispatcher } from 'undici';
import { AppError } from '#contract/app-error.js';
import { readCappedBody } from './capped-body.js';
import { checkedAgent } from './checked-agent.js';
import { systemResolve, type Network } from './checked-connect.js';
import { EgressConfig } from './egress.config.js';
import { assertPublicUrlShape } from './public-url.js';
import { timeLimit } from './time-limit.js';

const MAX_REDIRECTS = 3;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Nothing of us, of the caller or of an earlier hop is ever sent along. */
const HEADERS = {
  accept: 'image/png, image/jpeg, image/webp',
  'accept-encoding': 'identity',
  'user-agent': 'Darkroom',
};

/** How long and how much one fetch may take, below what the settings allow. */
export interface FetchOptions {
  readonly signal?: AbortSignal | undefined;
  /** Cap on the body, in bytes; EGRESS_MAX_BYTES when lower or absent. */
  readonly maxBytes?: number;
}

/**
 * Brings what lies at a URL that came from outside (a caller, or a provider's answer).
 * Reaches public addresses alone, checked at connect time and again after every redirect.
 */
@Injectable()
export class PublicFetcher {
  constructor(
    private readonly config: EgressConfig,
    @Optional() private readonly network: Network = { resolve: systemResolve },
  ) {}

  /**
   * The whole body. Throws AppError `invalid_image_url` for what the text of the URL shows, `failed_to_download_image`
   * for everything the network shows, always in the same words; the signal's reason when it aborts.
   */
  async get(text: string, options: FetchOptions = {}): Promise<Buffer> {
    options.signal?.throwIfAborted();
    const url = assertPublicUrlShape(text, this.config);
    const signal = timeLimit(this.config.totalTimeoutMs, options.signal);
    const maxBytes = Math.min(options.maxBytes ?? Infinity, this.config.maxBytes);
    try {
      return await this.follow(url, signal, maxBytes);
    } catch (error) {
      options.signal?.throwIfAborted();
      throw new AppError('failed_to_download_image', 'The image could not be downloaded from its URL.', {
        cause: error,
      });
    }
  }

  private async follow(start: URL, signal: AbortSignal, maxBytes: number): Promise<Buffer> {
    let url = start;
    for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
      const answer = await this.hop(url, signal, maxBytes);
      if (Buffer.isBuffer(answer)) return answer;
      const next = new URL(answer.location, url);
      url = assertPublicUrlShape(next.href, this.config, { httpsOnly: url.protocol === 'https:' });
    }
    throw new Error('too many redirects');
  }

  /** One request on a connection of its own, closed afterwards. */
  private async hop(url: URL, signal: AbortSignal, maxBytes: number): Promise<Buffer | { location: string }> {
    const { connectTimeoutMs, totalTimeoutMs } = this.config;
    const agent = checkedAgent(this.config, this.network, { connectTimeoutMs, bodyTimeoutMs: totalTimeoutMs });
    try {
      const answer = await this.firstByte(url, agent, signal);
      // A body that is never read ends with the agent; that is no news to anyone.
      answer.body.on('error', () => undefined);
      const location = answer.headers['location'];
      if (REDIRECTS.has(answer.statusCode) && typeof location === 'string') return { location };
      assertWholePlainAnswer(answer, maxBytes);
      return await readCappedBody(answer.body, { ...this.config, maxBytes });
    } finally {
      await agent.destroy();
    }
  }

  /** Resolving, connecting and waiting for the head of the answer share one clock. */
  private async firstByte(url: URL, dispatcher: Dispatcher, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(new Error('no answer in time')), this.config.connectTimeoutMs);
    try {
      return await request(url, { dispatcher, headers: HEADERS, signal: AbortSignal.any([signal, late.signal]) });
    } finally {
      clearTimeout(timer);
    }
  }
}

/** An encoded body is refused rather than unpacked: nobody asked for it, and it may unpack to anything. */
function assertWholePlainAnswer({ statusCode, headers }: Dispatcher.ResponseData, maxBytes: number): void {
  if (statusCode !== 200) throw new Error(`the answer has status ${statusCode}`);
  const encoding = headers['content-encoding'] ?? 'identity';
  if (String(encoding).toLowerCase() !== 'identity') throw new Error('the answer is encoded');
  if (Number(headers['content-length'] ?? 0) > maxBytes) throw new Error('the body is too long');
}
