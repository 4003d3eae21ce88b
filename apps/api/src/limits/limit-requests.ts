import { Injectable } from '@nestjs/common';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AppliedLimit } from '#billing/label-limits.js';
import { AppError } from '#contract/app-error.js';
import { QueueHealth } from '#queue/queue-health.js';
import type { Session } from '#accounts/session-store.js';
import type { Caller } from '../auth/caller.js';
import { LimitsConfig } from './limits.config.js';
import { AttemptLimiter } from '#limits/attempt-limiter.js';
import { RateCounter, WINDOW_SECONDS, type Counted, type RateWindow } from '#limits/rate-counter.js';

/** More changes than one user makes by hand in the console. */
const CHANGES_PER_HOUR = 500;

export type CountedKind = 'submits' | 'polls' | 'chats';

/** The caller's ids and limits. */
export type CountedCaller = Pick<Caller, 'accountId' | 'account' | 'originalKeyId' | 'limits'>;

/** A limit that applies to a caller. */
interface Limit extends RateWindow {
  /** Its name in headers, because the counter's name contains ids. */
  readonly policy: string;
  /** The owner of the limit, for error messages. */
  readonly whose: string;
  readonly kind: string;
}

/**
 * Counts the requests of counted routes, and rejects those above a limit of their key, their account, or one of their labels. A key
 * or an account may have its own limit; otherwise the deployment's applies.
 */
@Injectable()
export class RequestLimits {
  private readonly limits: Readonly<Record<CountedKind, number>>;
  private readonly accountLimits: Readonly<Record<CountedKind, number>>;

  constructor(
    private readonly counter: RateCounter,
    private readonly health: QueueHealth,
    private readonly attempts: AttemptLimiter,
    config: LimitsConfig,
  ) {
    this.limits = { submits: config.submitsPerMinute, polls: config.pollsPerMinute, chats: config.chatsPerMinute };
    this.accountLimits = config.account;
  }

  /**
   * The response headers describe the limit with the fewest requests left. Throws AppError `rate_limit_exceeded`.
   * Without Redis nothing is counted: polls and chats must keep working, and submits are rejected for another reason.
   */
  async admit(kind: CountedKind, caller: CountedCaller, reply?: FastifyReply): Promise<void> {
    const { accountId, account, originalKeyId, limits } = caller;
    await this.count(
      [
        {
          name: `${kind}:${originalKeyId}`,
          policy: kind,
          whose: 'This API key',
          kind,
          limit: (kind === 'chats' ? undefined : limits[kind]) ?? this.limits[kind],
        },
        {
          name: `${kind}:${accountId}`,
          policy: `account-${kind}`,
          whose: 'The account of this API key',
          kind,
          limit: account.limits[kind] ?? this.accountLimits[kind],
        },
      ],
      reply,
    );
  }

  /** Counts a request for its end user and its tags, where they have limits. Throws like `admit`. */
  async admitLabels(labels: readonly AppliedLimit[]): Promise<void> {
    await this.count(
      labels.map(({ kind, id, requestsPerMinute }) => ({
        name: `label:${id}`,
        policy: kind,
        whose: kind === 'tag' ? 'A tag of this request' : 'This end user',
        kind: 'requests',
        limit: requestsPerMinute ?? 0,
      })),
      undefined,
    );
  }

  /** Counts all requests of a user's console pages, with the limit of a key's polls. Throws like `admit`. */
  async admitPages(personId: string, reply: FastifyReply): Promise<void> {
    const page = { name: `console:${personId}`, policy: 'console', whose: 'The console', kind: 'requests' };
    await this.count([{ ...page, limit: this.limits.polls }], reply);
  }

  /**
   * Counts what a user changes in the console, each of which may make an entry in the audit log, so that it is not
   * filled in a moment. Throws like `admit`.
   */
  async admitChange(personId: string): Promise<void> {
    if (!this.health.accepting) return;
    await this.attempts.admit(`console-changes:${personId}`, CHANGES_PER_HOUR, 3_600);
  }

  private async count(all: readonly Limit[], reply: FastifyReply | undefined): Promise<void> {
    const limits = all.filter(({ limit }) => limit > 0);
    if (limits.length === 0 || !this.health.accepting) return;
    let counted: Counted[];
    try {
      counted = await this.counter.countAll(limits);
    } catch {
      this.health.reportFailure();
      return;
    }
    const standings = limits.map((limit, index) => standing(limit, counted[index] as Counted));
    const refused = standings.find(({ left }) => left < 0);
    const tightest = refused ?? standings.reduce((one, other) => (other.left < one.left ? other : one));
    if (reply !== undefined) tell(tightest, reply);
    if (refused === undefined) return;
    const { whose, limit, kind, resetSeconds } = refused;
    const text = `${whose} is limited to ${limit} ${WORDS[kind] ?? kind} per minute. Try again in ${resetSeconds} s.`;
    throw new AppError('rate_limit_exceeded', text, { retryAfter: resetSeconds });
  }
}

/** Names in error messages. */
const WORDS: Readonly<Record<string, string>> = { submits: 'image requests', polls: 'status checks' };

interface Standing extends Limit {
  /** Remaining requests; negative for a request above the limit. */
  readonly left: number;
  readonly resetSeconds: number;
}

function standing(limit: Limit, { place, resetSeconds }: Counted): Standing {
  return { ...limit, left: limit.limit - place, resetSeconds };
}

function tell({ policy, limit, left, resetSeconds }: Standing, reply: FastifyReply): void {
  const remaining = Math.max(0, left);
  void reply.headers({
    'x-ratelimit-limit-requests': String(limit),
    'x-ratelimit-remaining-requests': String(remaining),
    'x-ratelimit-reset-requests': resetSeconds === 60 ? '1m0s' : `${resetSeconds}s`,
    'ratelimit-policy': `"${policy}";q=${limit};w=${WINDOW_SECONDS}`,
    ratelimit: `"${policy}";r=${remaining};t=${resetSeconds}`,
  });
}

/**
 * Counts every authenticated request of a counted route before its body is read. Orders in the console count for the
 * key of `consoleCaller`: a member's limited key if there is one, otherwise the account's own. All its other requests
 * count for the user's pages, and for their changes.
 */
export function limitRequests(
  server: FastifyInstance,
  limits: RequestLimits,
  consoleCaller: (session: Session) => Promise<Caller>,
): void {
  const admit = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { counted: kind, console: isConsole, uncapped } = request.routeOptions.config;
    const { session } = request;
    if (isConsole === true) {
      if (session === undefined) return;
      if (kind === undefined) {
        await limits.admitPages(session.personId, reply);
        if (!['GET', 'HEAD'].includes(request.method) && uncapped !== true) await limits.admitChange(session.personId);
        return;
      }
      request.caller = await consoleCaller(session);
    }
    // A line of a batch counted with its batch.
    if (request.caller?.line !== undefined) return;
    if (kind !== undefined && request.caller !== undefined) await limits.admit(kind, request.caller, reply);
  };
  server.addHook('onRequest', (request, reply, done) => {
    const { counted, console: isConsole } = request.routeOptions.config;
    if (counted === undefined && isConsole !== true) {
      done();
      return;
    }
    admit(request, reply).then(() => done(), done);
  });
}
