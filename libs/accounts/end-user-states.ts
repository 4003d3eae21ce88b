import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { AppError } from '#contract/app-error.js';
import { overloaded } from '#contract/unavailable.js';
import { NO_JSON } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import { atMost } from '#limits/at-most.js';
import { stateAt, type EndUserFlag, type EndUserState } from './end-user-state.js';
import { changeEndUser, takeUnannounced, type EndUserChange } from './end-user-states.sql.js';

/** How long a state is cached, in ms: every process refuses a blocked end user within 2 seconds. */
const STATE_TTL_MS = 1_000;
const MAX_STATES = 10_000;
/** How long a state without effect is kept after its last change, in days. */
const ENDED_STATE_DAYS = 30;
const DAY_MS = 86_400_000;

type Refusal = Pick<EndUserState, 'state' | 'until'>;

/** Which end users are flagged, paused, or blocked. Requests cost one indexed read per end user and second, and none without. */
@Injectable()
export class EndUserStates {
  private readonly known = new LRUCache<string, Promise<Refusal | undefined>>({
    ...atMost(MAX_STATES),
    ttl: STATE_TTL_MS,
  });

  constructor(private readonly prisma: PrismaService) {}

  /**
   * By a state that is at most a second old. Throws AppError `end_user_blocked`, `end_user_paused`, or
   * `server_is_overloaded` without a database.
   */
  async assertAllowed(accountId: string, endUser: string | undefined): Promise<void> {
    if (endUser === undefined) return;
    const name = nameOf(accountId, endUser);
    let state = this.known.get(name);
    if (state === undefined) {
      state = this.read(accountId, endUser);
      this.known.set(name, state);
      state.catch(() => this.known.delete(name));
    }
    const found = await state.catch((error: unknown) => {
      throw overloaded(error);
    });
    if (found?.state === 'blocked') throw endUserBlocked();
    const seconds = Math.ceil(((found?.until?.getTime() ?? 0) - Date.now()) / 1_000);
    if (found?.state === 'paused' && seconds > 0) throw paused(seconds);
  }

  /** Changes the state of an end user, or only the reason for it, as `changeEndUser`; false when it already was so. */
  async change(change: EndUserChange): Promise<boolean> {
    const changed = await changeEndUser(this.prisma.pool, change);
    this.known.delete(nameOf(change.accountId, change.endUser));
    return changed;
  }

  /** States that have an effect, latest first: all, or those of the end users that are named. */
  async list(
    accountId: string,
    { endUsers, limit }: { endUsers?: readonly string[]; limit: number },
  ): Promise<EndUserState[]> {
    const now = new Date();
    const rows = await this.prisma.endUserState.findMany({
      where: {
        accountId,
        ...(endUsers !== undefined && { endUser: { in: [...endUsers] } }),
        OR: inEffect(now),
      },
      orderBy: { changedAt: 'desc' },
      take: limit,
    });
    return rows.map((row) => stateOf(row, now));
  }

  /** States that no person caused since a time, latest first. */
  async causedSince(accountId: string, since: Date, limit: number): Promise<EndUserState[]> {
    const now = new Date();
    const rows = await this.prisma.endUserState.findMany({
      where: { accountId, cause: { not: 'person' }, changedAt: { gt: since }, OR: inEffect(now) },
      orderBy: { changedAt: 'desc' },
      take: limit,
    });
    const states = rows.map((row) => stateOf(row, now));
    return states.filter(({ cause, changedAt }) => cause !== 'person' && changedAt > since);
  }

  /**
   * Hands each state that nobody was told of to `announce`, in the transaction that marks it; of several processes, one
   * does. Returns the states. Throws when the database does not answer.
   */
  async announce(announce: Parameters<typeof takeUnannounced>[1]): Promise<EndUserState[]> {
    // Workers ask every second, and nearly always in vain.
    const one = await this.prisma.endUserState.findFirst({ where: { announcedAt: null }, select: { endUser: true } });
    return one === null ? [] : await takeUnannounced(this.prisma, announce);
  }

  /** When the oldest state without effect became due for deletion; undefined when none is due. */
  async dueSince(): Promise<Date | undefined> {
    const oldest = await this.prisma.endUserState.findFirst({
      where: ended(),
      orderBy: { changedAt: 'asc' },
      select: { changedAt: true },
    });
    return oldest === null ? undefined : new Date(oldest.changedAt.getTime() + ENDED_STATE_DAYS * DAY_MS);
  }

  /** Removes states without effect. Throws when the database fails. */
  async expire(): Promise<void> {
    await this.prisma.endUserState.deleteMany({ where: ended() });
  }

  private async read(accountId: string, endUser: string): Promise<Refusal | undefined> {
    const where = { accountId_endUser: { accountId, endUser } };
    const row = await this.prisma.endUserState.findUnique({ where, select: { state: true, until: true } });
    return row === null ? undefined : (row as Refusal);
  }
}

type StateRow = Parameters<typeof stateAt>[0];

function stateOf(
  row: Omit<StateRow, 'state' | 'cause' | 'flag'> & { state: string; cause: string; flag: unknown },
  now: Date,
) {
  return stateAt({ ...(row as StateRow), flag: row.flag as EndUserFlag | null }, now);
}

/** A pause that is over has no effect, unless it put a flag aside. */
function inEffect(now: Date) {
  return [
    { state: { in: ['flagged', 'blocked'] } },
    { state: 'paused', until: { gt: now } },
    { state: 'paused', flag: { not: NO_JSON } },
  ];
}

function ended() {
  const before = new Date(Date.now() - ENDED_STATE_DAYS * DAY_MS);
  const paused = { state: 'paused', until: { lt: before }, flag: { equals: NO_JSON } };
  return { changedAt: { lt: before }, OR: [{ state: 'none' }, paused] };
}

function nameOf(accountId: string, endUser: string): string {
  return `${accountId} ${endUser}`;
}

/** The error for what a blocked end user has ordered. */
export function endUserBlocked(): AppError {
  return new AppError(
    'end_user_blocked',
    'This end user is blocked. An owner or admin of the account can unblock them.',
  );
}

function paused(retryAfter: number): AppError {
  const text = `This end user is paused for ${retryAfter} more seconds, because requests of theirs were refused for their content.`;
  return new AppError('end_user_paused', text, { retryAfter });
}
