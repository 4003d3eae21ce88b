import type { FastifyInstance, FastifyReply } from 'fastify';
import { AppError } from '#contract/app-error.js';
import type { QueueHealth } from '#queue/queue-health.js';
import type { Caller } from '../auth/caller.js';
import type { LimitsConfig } from './limits.config.js';
import { WINDOW_SECONDS, type Counted, type RateCounter } from './rate-counter.js';

export type CountedKind = 'submits' | 'polls' | 'chats';

/** Counts requests of routes that say so and refuses those above their key's limit: its own, or else the deployment's. */
export class RequestLimits {
  private readonly limits: Readonly<Record<CountedKind, number>>;

  constructor(
    private readonly counter: RateCounter,
    private readonly health: QueueHealth,
    config: LimitsConfig,
  ) {
    this.limits = { submits: config.submitsPerMinute, polls: config.pollsPerMinute, chats: config.chatsPerMinute };
  }

  /**
   * Throws AppError `rate_limit_exceeded`. Without Redis nothing is counted: polls and chats must go on, and submits
   * are turned away for another reason.
   */
  async admit(kind: CountedKind, { keyId, limits }: Caller, reply: FastifyReply): Promise<void> {
    const limit = (kind === 'chats' ? undefined : limits[kind]) ?? this.limits[kind];
    if (limit === 0 || !this.health.accepting) return;
    let counted: Counted;
    try {
      counted = await this.counter.count(`${kind}:${keyId}`);
    } catch {
      this.health.reportFailure();
      return;
    }
    const { place, resetSeconds } = counted;
    const remaining = Math.max(0, limit - place);
    void reply.headers({
      'x-ratelimit-limit-requests': String(limit),
      'x-ratelimit-remaining-requests': String(remaining),
      'x-ratelimit-reset-requests': resetSeconds === 60 ? '1m0s' : `${resetSeconds}s`,
      'ratelimit-policy': `"${kind}";q=${limit};w=${WINDOW_SECONDS}`,
      ratelimit: `"${kind}";r=${remaining};t=${resetSeconds}`,
    });
    if (place <= limit) return;
    throw new AppError('rate_limit_exceeded', `This API key is limited to ${limit} ${kind} per minute.`, {
      retryAfter: resetSeconds,
    });
  }
}

/** Checks every authenticated request of a counted route before its body is read. */
export function limitRequests(server: FastifyInstance, limits: RequestLimits): void {
  server.addHook('onRequest', (request, reply, done) => {
    const kind = request.routeOptions.config.counted;
    if (kind === undefined || request.caller === undefined) {
      done();
      return;
    }
    limits.admit(kind, request.caller, reply).then(() => {
      done();
    }, done);
  });
}
