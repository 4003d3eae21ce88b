import { Injectable, Optional } from '@nestjs/common';
import type { Dispatcher } from 'undici';
import { AppError } from '#contract/app-error.js';
import { readCappedBody, type BodyLimits } from './capped-body.js';
import { checkedAgent } from './checked-agent.js';
import type { Network } from './checked-connect.js';
import { decodedBody } from './decoded-body.js';
import { EgressConfig } from './egress.config.js';
import { assertPublicUrlShape } from './public-url.js';
import { resolveHost } from './resolve-host.js';
import { timeLimit } from './time-limit.js';
import { abortableRequest } from './undici.js';

const MAX_REDIRECTS = 3;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** The only headers sent; none come from the caller or an earlier hop. */
const HEADERS = {
  // Servers that choose a format should choose one that need not be converted; others send what they have.
  accept: 'image/png, image/jpeg, image/webp',
  'accept-encoding': 'identity',
  'user-agent': 'Darkroom',
};

/** Limits of each download: its size, its time with all redirects, and how slow it may be. */
export interface DownloadLimits extends BodyLimits {
  readonly totalTimeoutMs: number;
}

/**
 * 20 MiB, a little more than a remote image may have by the contract, in 30 s, also by the contract. A server that stays
 * below 10 kB/s for 3 s couldn't send a usual image in that time.
 */
export const DOWNLOAD_LIMITS: DownloadLimits = {
  maxBytes: 20_971_520,
  totalTimeoutMs: 30_000,
  minRate: 10_240,
  rateWindowMs: 3_000,
};

/** Limits of one fetch, within those of all. */
export interface FetchOptions {
  readonly signal?: AbortSignal | undefined;
  /** Limit of the body, in bytes; that of all downloads applies if it is lower or this is absent. */
  readonly maxBytes?: number;
  /**
   * Decodes a body that is encoded although this was not requested, as one that has been paid for; absent: refuses it.
   */
  readonly decode?: boolean;
}

interface HopLimits {
  readonly maxBytes: number;
  readonly decode: boolean;
}

/**
 * Downloads from URLs that came from outside (from a caller, or in a provider's response). Reaches only public and
 * allowed addresses, checked when it connects and again after every redirect.
 */
@Injectable()
export class PublicFetcher {
  constructor(
    private readonly config: EgressConfig,
    @Optional() private readonly network: Network = { resolve: resolveHost },
    @Optional() private readonly limits: DownloadLimits = DOWNLOAD_LIMITS,
  ) {}

  /**
   * Returns the whole body. Throws AppError `invalid_image_url` for a problem in the text of the URL,
   * `failed_to_download_image` for any network problem, always with the same message; throws the signal's reason when
   * it aborts.
   */
  async get(text: string, options: FetchOptions = {}): Promise<Buffer> {
    options.signal?.throwIfAborted();
    const url = assertPublicUrlShape(text, this.config);
    const signal = timeLimit(this.limits.totalTimeoutMs, options.signal);
    const maxBytes = Math.min(options.maxBytes ?? Infinity, this.limits.maxBytes);
    try {
      return await this.follow(url, signal, { maxBytes, decode: options.decode ?? false });
    } catch (error) {
      options.signal?.throwIfAborted();
      throw new AppError('failed_to_download_image', 'The image could not be downloaded from its URL.', {
        cause: error,
      });
    }
  }

  private async follow(start: URL, signal: AbortSignal, limits: HopLimits): Promise<Buffer> {
    let url = start;
    for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
      const answer = await this.hop(url, signal, limits);
      if (Buffer.isBuffer(answer)) return answer;
      const next = new URL(answer.location, url);
      url = assertPublicUrlShape(next.href, this.config, { httpsOnly: url.protocol === 'https:' });
    }
    throw new Error('too many redirects');
  }

  /** Sends one request on its own connection, and closes it afterwards. */
  private async hop(
    url: URL,
    signal: AbortSignal,
    { maxBytes, decode }: HopLimits,
  ): Promise<Buffer | { location: string }> {
    const { connectTimeoutMs } = this.config;
    const agent = checkedAgent(this.config, this.network, {
      connectTimeoutMs,
      bodyTimeoutMs: this.limits.totalTimeoutMs,
    });
    try {
      const answer = await this.firstByte(url, agent.dispatcher, signal);
      // Destroying the agent fails a body that was not read; ignore that error.
      answer.body.on('error', () => undefined);
      const location = answer.headers['location'];
      if (REDIRECTS.has(answer.statusCode) && typeof location === 'string') return { location };
      assertWholeAnswer(answer, maxBytes);
      if (!decode) assertPlain(answer);
      // What is decoded counts, so a body can't become larger than it may be.
      const body = decode ? decodedBody(answer.body, answer.headers['content-encoding'], true) : answer.body;
      const announced = Number(answer.headers['content-length'] ?? 0) || 0;
      return await readCappedBody(body, { ...this.limits, maxBytes, announced });
    } finally {
      await agent.destroy();
    }
  }

  /** One timeout covers resolving, connecting, and waiting for the response headers. */
  private async firstByte(url: URL, dispatcher: Dispatcher, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(new Error('no answer in time')), this.config.connectTimeoutMs);
    const either = AbortSignal.any([signal, late.signal]);
    try {
      return await abortableRequest(url, { dispatcher, headers: HEADERS, signal: either });
    } finally {
      clearTimeout(timer);
    }
  }
}

function assertWholeAnswer({ statusCode, headers }: Dispatcher.ResponseData, maxBytes: number): void {
  if (statusCode !== 200) throw new Error(`the answer has status ${statusCode}`);
  if (Number(headers['content-length'] ?? 0) > maxBytes) throw new Error('the body is too long');
}

/** It was not requested. */
function assertPlain({ headers }: Dispatcher.ResponseData): void {
  const encoding = headers['content-encoding'] ?? 'identity';
  if (String(encoding).toLowerCase() !== 'identity') throw new Error('the answer is encoded');
}
