import { ByteCollector } from '#bytes/bytes.js';
import { ResponseTooLarge } from '../http/base64-sink.js';
import { errorBody } from '../http/error-body.js';
import { unusable } from '../http/failures.js';
import { MAX_IMAGE_BYTES } from '../http/fetch-image.js';
import { UnusableResponse } from '../http/json-response.js';
import { readJson } from '../http/json-value.js';
import type { RequestBody } from '../http/request-body.js';
import { Upstream, type UpstreamResponse, type UpstreamSettings } from '../http/upstream.js';
import type { ProviderError } from '../provider-error.js';

/** A history response contains the workflow and all events of one job. */
const MAX_ANSWER_BYTES = 16_000_000;

/** The error for a response without success; `value` is its body if that is JSON. */
export type Refused = (
  answer: Pick<UpstreamResponse, 'status' | 'retryAfter'>,
  value: unknown,
  providerMessage: string | undefined,
) => ProviderError;

interface JsonCall {
  readonly body?: RequestBody;
  readonly idempotencyKey?: string;
}

/** HTTP calls to a ComfyUI server. Throw ProviderError, or the signal's reason when aborted. */
export class ComfyCalls {
  private readonly upstream: Upstream;

  constructor(
    settings: UpstreamSettings,
    private readonly refused: Refused,
  ) {
    this.upstream = new Upstream(settings);
  }

  async json(path: string, signal: AbortSignal, call: JsonCall = {}): Promise<unknown> {
    return this.call(path, signal, call, async (answer) => {
      try {
        return await readJson(answer.body);
      } catch (error) {
        const isUnusable = error instanceof UnusableResponse || error instanceof ResponseTooLarge;
        throw isUnusable ? unusable(error.message) : error;
      }
    });
  }

  /** For calls whose response is not read. */
  async post(path: string, body: RequestBody, signal: AbortSignal): Promise<void> {
    await this.call(path, signal, { body }, () => Promise.resolve());
  }

  async image(path: string, signal: AbortSignal): Promise<Buffer> {
    const call = { path, signal, accept: 'image/*', maxBytes: MAX_IMAGE_BYTES };
    return this.upstream.call(call, async (answer) => {
      if (answer.status !== 200) throw this.refused(answer, undefined, undefined);
      const collected = new ByteCollector(answer.announced);
      for await (const piece of answer.body) collected.add(piece);
      return collected.joined();
    });
  }

  /** The server's message in a value, without secrets. */
  messageIn(value: unknown): string | undefined {
    return this.upstream.messageIn(value);
  }

  private async call<T>(
    path: string,
    signal: AbortSignal,
    more: JsonCall,
    read: (answer: UpstreamResponse) => Promise<T>,
  ): Promise<T> {
    const call = { path, signal, accept: 'application/json', maxBytes: MAX_ANSWER_BYTES };
    return this.upstream.call({ ...call, ...more }, async (answer) => {
      if (answer.status === 200 || answer.status === 201) return read(answer);
      const { isJson, value } = await errorBody(answer.body);
      throw this.refused(answer, isJson ? value : undefined, this.messageIn(value));
    });
  }
}
