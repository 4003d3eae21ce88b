import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { PRODUCER_REDIS } from '#redis/redis.module.js';
import { RedisConfig } from '#redis/redis.config.js';
import type { RedisScript } from '#redis/redis-script.js';
import {
  GIVE_BACK,
  JOIN,
  LEAVE,
  MISSING,
  NEXT,
  PLACES,
  STEPS,
  TAKE_TURN_AND_SLOT,
  TAKE_TURNS,
} from './fair-scripts.js';
import { IMAGE_QUEUE } from './job-catalog.js';

export { FIRST_PRIORITY } from './fair-scripts.js';

/** Whose turn a job takes. */
export interface QueueCaller {
  readonly accountId: string;
  /** The account's turns per round, relative to other accounts; at least 1. */
  readonly accountWeight: number;
  /** Keys that replaced each other take turns as one. */
  readonly originalKeyId: string;
  /** The key's share of its account's turns, relative to the account's other keys; at least 1. */
  readonly weight: number;
}

/** A turn of an account, taken by one of its keys. */
export interface Turn {
  /** Of the job that holds it, for BullMQ. */
  readonly priority: number;
  readonly accountId: string;
  /** The account's place among all accounts, and the key's within its account; both grow without end. */
  readonly turn: string;
  readonly keyTurn: string;
}

/** What came of asking for a turn. */
export interface TurnOffer {
  /** Undefined when too many jobs are before it; then it was not taken. */
  readonly turn: Turn | undefined;
  /** Jobs that are before its task, those that run now included. */
  readonly before: number;
}

/** A place that a task needs besides its turn, among those that its account and its key have in flight. */
export interface Slot {
  readonly task: string;
  /** When accounts were looked up, the account's tasks, the key's. */
  readonly keys: readonly [known: string, account: string, key: string];
  /** 0 = any number. */
  readonly limits: { readonly account: number; readonly key: number };
  /** How long it is kept when nobody frees it, in ms. */
  readonly keptMs: number;
  /** For so many ms after a look at the account's rows, the sets are believed that there is no place. */
  readonly trustedMs: number;
}

/** Why there is no place: the account or the key has as many tasks as it may, or its rows have to be looked at first. */
export type SlotRefusal = 'account' | 'key' | 'unknown';

/** A task that is next, as its job id, and where it was in line; without that it comes back and had its turn before. */
export interface NextTask {
  readonly id: string;
  readonly place?: Omit<Turn, 'priority'>;
}

/** Where a waiting task is. */
export interface QueuePlace {
  /** 1 = the next of its own account. Of other accounts it tells nothing. */
  readonly position: number;
  /** Jobs that are before it, those that run now included. */
  readonly before: number;
}

/** Numbers that stand for any number of jobs, and for a turn that is not taken. */
const [ANY, UNTAKEN] = [-1, -2];

/**
 * Serves accounts by turns, and within each account its keys. A job in BullMQ's queue is a turn of an account: its
 * priority is decided when it is added, one per round and weight, counted from the turn that is being served. So the
 * first job of every account comes before the second of any, however many are waiting. Which task of the account a turn
 * is for is decided when it is served, since a key may come later than the jobs of its siblings.
 * Each method is one script; they throw like RedisScript.
 */
@Injectable()
export class FairOrder {
  private readonly prefix: string;
  private readonly keys: readonly string[];

  constructor(
    @Inject(PRODUCER_REDIS) private readonly redis: Redis,
    { redisPrefix: prefix }: RedisConfig,
  ) {
    this.prefix = prefix;
    this.keys = [
      ...['rounds', 'accounts', 'handed'].map((name) => `${prefix}:${name}`),
      ...['prioritized', 'wait', 'active'].map((name) => `${prefix}:${IMAGE_QUEUE}:${name}`),
    ];
  }

  /** The next turns of the callers, in their order. */
  async takeTurns(callers: readonly QueueCaller[]): Promise<Turn[]> {
    return (await this.take(callers, ANY)).map(({ turn }) => turn as Turn);
  }

  /** The next turn of one caller, unless more than `mostBefore` jobs would be before it; any number when undefined. */
  async takeTurn(caller: QueueCaller, mostBefore: number | undefined): Promise<TurnOffer> {
    return (await this.take([caller], mostBefore ?? ANY))[0] as TurnOffer;
  }

  /** Like `takeTurn`, with a place for its task: both or neither. */
  async takeTurnAndSlot(
    caller: QueueCaller,
    mostBefore: number | undefined,
    { task, keys, limits, keptMs, trustedMs }: Slot,
  ): Promise<TurnOffer | SlotRefusal> {
    const values = [task, limits.account, limits.key, keptMs, trustedMs, mostBefore ?? ANY, ...asked(caller)];
    const [outcome, ...answer] = (await TAKE_TURN_AND_SLOT.run(
      this.redis,
      [...this.keys, ...keys],
      [this.prefix, ...values],
    )) as ['taken' | SlotRefusal, ...TurnAnswer];
    return outcome === 'taken' ? offerOf(caller, answer) : outcome;
  }

  /** How many jobs would be before the caller's next task, those that run now included. Takes no turn. */
  async before(caller: QueueCaller): Promise<number> {
    return (await this.take([caller], UNTAKEN))[0]?.before ?? 0;
  }

  /** The caller's last turn is not needed after all. */
  async giveBack({ accountId, accountWeight, originalKeyId, weight }: QueueCaller): Promise<void> {
    await this.run(GIVE_BACK, [accountId, STEPS / accountWeight, originalKeyId, 1 / weight]);
  }

  /** Tasks wait in line from now on, for turns that are held by jobs. All are named by job ids. */
  async join(members: readonly { task: string; job: string; place: Omit<Turn, 'priority'> }[]): Promise<void> {
    const values = members.flatMap(({ task, job, place }) => [place.accountId, task, place.keyTurn, job, place.turn]);
    if (values.length > 0) await this.run(JOIN, values);
  }

  /** A job starts: which task it is for. Undefined when its account has none left. */
  async served(job: string): Promise<NextTask | undefined> {
    return nextTask(await this.run(NEXT, [job, '']));
  }

  /** The next task of an account that has a turn to use up. */
  async nextOf(accountId: string): Promise<NextTask | undefined> {
    return nextTask(await this.run(NEXT, ['', accountId]));
  }

  /** A task waits no more. Answers with the job that is not needed any longer, if there is one. */
  async leave(task: string): Promise<string | undefined> {
    const job = (await this.run(LEAVE, [task])) as string;
    return job === '' ? undefined : job;
  }

  /** Which of the tasks no job would run. */
  async missing(tasks: readonly string[]): Promise<boolean[]> {
    if (tasks.length === 0) return [];
    return ((await this.run(MISSING, tasks)) as number[]).map((lost) => lost === 1);
  }

  /** Where the tasks are, undefined for those that are not in line. */
  async places(tasks: readonly string[]): Promise<(QueuePlace | undefined)[]> {
    if (tasks.length === 0) return [];
    const places = (await this.run(PLACES, tasks)) as [number, number][];
    return places.map(([place, before]) => (place < 0 ? undefined : { position: place + 1, before }));
  }

  private async take(callers: readonly QueueCaller[], mostBefore: number): Promise<TurnOffer[]> {
    if (callers.length === 0) return [];
    const answers = (await this.run(TAKE_TURNS, [mostBefore, ...callers.flatMap(asked)])) as TurnAnswer[];
    return callers.map((caller, index) => offerOf(caller, answers[index] as TurnAnswer));
  }

  private run(script: RedisScript, values: readonly (string | number)[]): Promise<unknown> {
    return script.run(this.redis, this.keys, [this.prefix, ...values]);
  }
}

type TurnAnswer = [priority: number, turn: string, keyTurn: string, before: number];

/** A caller as scripts are asked for its turn. */
function asked({ accountId, accountWeight, originalKeyId, weight }: QueueCaller): (string | number)[] {
  return [accountId, accountWeight, originalKeyId, weight];
}

function offerOf({ accountId }: QueueCaller, [priority, turn, keyTurn, before]: TurnAnswer): TurnOffer {
  return { turn: priority === 0 ? undefined : { priority, accountId, turn, keyTurn }, before };
}

function nextTask(answer: unknown): NextTask | undefined {
  const [id, accountId, keyTurn, turn] = answer as string[];
  if (id === undefined) return undefined;
  if (accountId === undefined || keyTurn === undefined || turn === undefined) return { id };
  return { id, place: { accountId, keyTurn, turn } };
}
