import { Injectable } from '@nestjs/common';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { QueueHealth } from '#queue/queue-health.js';
import type { Session } from '#accounts/session-store.js';
import type { Caller } from '../auth/caller.js';
import { LimitsConfig } from './limits.config.js';
import { RateCounter, WINDOW_SECONDS, type Counted, type RateWindow } from './rate-counter.js';

export type CountedKind = 'submits' | 'polls' | 'chats';

/** Whose requests are counted, and by which limits of their own. */
export type CountedCaller = Pick<Caller, 'accountId' | 'account' | 'originalKeyId' | 'limits'>;

/** A limit that binds a caller. */
interface Limit extends RateWindow {
  /** In headers, where the name of the counter would tell ids. */
  readonly policy: string;
  /** Whom the limit is of, for a sentence. */
  readonly whose: string;
  readonly kind: string;
}

/**
 * Counts requests of routes that say so and refuses those above a limit: of their key, or of all keys of its account.
 * Each may have its own, or else has the deployment's.
 */
@Injectable()
export class RequestLimits {
  private readonly limits: Readonly<Record<CountedKind, number>>;
  private readonly accountLimits: Readonly<Record<CountedKind, number>>;

  constructor(
    private readonly counter: RateCounter,
    private readonly health: QueueHealth,
    config: LimitsConfig,
  ) {
    this.limits = { submits: config.submitsPerMinute, polls: config.pollsPerMinute, chats: config.chatsPerMinute };
    this.accountLimits = config.account;
  }

  /**
   * Headers of the answer tell the limit that leaves least. Throws AppError `rate_limit_exceeded`. Without Redis
   * nothing is counted: polls and chats must go on, and submits are turned away for another reason.
   */
  async admit(kind: CountedKind, caller: CountedCaller, reply?: FastifyReply): Promise<void> {
    const { accountId, account, originalKeyId, limits } = caller;
    await this.count(
      [
        {
          ...{ name: `${kind}:${originalKeyId}`, policy: kind, whose: 'This API key', kind },
          limit: (kind === 'chats' ? undefined : limits[kind]) ?? this.limits[kind],
        },
        {
          ...{ name: `${kind}:${accountId}`, policy: `account-${kind}`, whose: 'The account of this API key', kind },
          limit: account.limits[kind] ?? this.accountLimits[kind],
        },
      ],
      reply,
    );
  }

  /** What somebody's pages of the console ask for, in all: as much as a key's polls. Throws like `admit`. */
  async admitPages(personId: string, reply: FastifyReply): Promise<void> {
    const page = { name: `console:${personId}`, policy: 'console', whose: 'The console', kind: 'requests' };
    await this.count([{ ...page, limit: this.limits.polls }], reply);
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

/** What people call them. */
const WORDS: Readonly<Record<string, string>> = { submits: 'image requests', polls: 'status checks' };

interface Standing extends Limit {
  /** Requests that may follow; below 0 for one that was too many. */
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
 * Checks every authenticated request of a counted route before its body is read. What the console orders counts as its
 * account's own key (`consoleCaller`), and everything else it asks for as its person's pages.
 */
export function limitRequests(
  server: FastifyInstance,
  limits: RequestLimits,
  consoleCaller: (session: Session) => Promise<Caller>,
): void {
  const admit = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { counted: kind, console: isConsole } = request.routeOptions.config;
    const { session } = request;
    if (isConsole === true) {
      if (session === undefined) return;
      if (kind === undefined) return limits.admitPages(session.personId, reply);
      request.caller = await consoleCaller(session);
    }
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
