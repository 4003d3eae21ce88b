import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { PRODUCER_REDIS } from '#redis/redis.module.js';
import { RedisConfig } from '#redis/redis.config.js';
import type { RedisScript } from '#redis/redis-script.js';
import {
  RETURN_TURN,
  RETURN_TURN_AND_SLOT,
  JOIN,
  LEAVE,
  MISSING,
  NEXT,
  POSITIONS,
  STEPS,
  TAKE_TURN_AND_SLOT,
  TAKE_TURNS,
} from './fair-scripts.js';
import { IMAGE_QUEUE } from './job-catalog.js';

/** Whose turn a job takes. */
export interface QueueCaller {
  readonly accountId: string;
  /** The account's turns per round, relative to other accounts; at least 1. */
  readonly accountWeight: number;
  /** Keys that replaced each other take turns as one, and so do an account's batches, and the tasks of a label with a weight. */
  readonly originalKeyId: string;
  /** The key's share of its account's turns, relative to the account's other keys; below 1 for batches. */
  readonly weight: number;
}

/** A turn of an account, taken by one of its keys. */
export interface Turn {
  /** BullMQ's priority for the job that holds the turn. */
  readonly priority: number;
  readonly accountId: string;
  /** Among all accounts' turns, and among those of the account's keys; both grow without limit. */
  readonly accountTurn: string;
  readonly keyTurn: string;
}

/** The result of asking for a turn. */
export interface TurnOffer {
  /** Undefined when too many jobs are ahead of it; then it was not taken. */
  readonly turn: Turn | undefined;
  /** Jobs that are ahead of its task, including running ones. */
  readonly before: number;
}

/** A slot that a task needs in addition to its turn, among the tasks its account, its key, and its labels have in flight. */
export interface Slot {
  /** The task's own id, whichever job it has. */
  readonly task: string;
  /** The key whose slot it is; the turn may be taken by another. */
  readonly owner: string;
  /** Redis keys: when accounts were checked, the account's tasks, the key's tasks. */
  readonly keys: readonly [known: string, account: string, key: string];
  /** 0 = any number. */
  readonly limits: { readonly account: number; readonly key: number };
  /** Of each of its labels that has a limit: the Redis key of its tasks, and the limit. */
  readonly labels: readonly { readonly key: string; readonly limit: number }[];
  /** How long it is kept if it is never freed, in ms. */
  readonly keptMs: number;
  /** For this many ms after a check of the account's rows, full sets are trusted without another check. */
  readonly trustedMs: number;
}

/**
 * Why there is no slot: the account, the key, or a label, by its index, is at its limit, or `unknown`: the rows must be
 * checked first.
 */
export type SlotRefusal = 'account' | 'key' | 'unknown' | number;

/** A turn, once its job has its priority. */
type TurnInLine = Omit<Turn, 'priority'>;

/** The next task, and its turn; without one, the task comes back and had its turn before. */
export interface NextTask {
  /** The job id under which it was put in line: its own id with an epoch. */
  readonly id: string;
  readonly turn?: TurnInLine;
}

/** Where a waiting task stands in the queue. */
export interface QueuePosition {
  /** 1 = the next of its own account. Reveals nothing about other accounts. */
  readonly position: number;
  /** Jobs that are ahead of it, including running ones. */
  readonly before: number;
}

/** Values of `mostBefore` for any number of jobs, and for asking without taking a turn. */
const ANY = -1;
const UNTAKEN = -2;

/**
 * Serves accounts by turns, and within each account its keys. A job in BullMQ's queue is a turn of an account: its
 * priority is decided when it is added, by round and weight, counted from the turn that is being served. So the first
 * job of every account comes before the second of any, however many are waiting. Which of the account's tasks a turn
 * runs is decided when it is served, because a key may join later than the jobs of its sibling keys.
 * A task in line goes by the job id under which it was put there, which is its own id with an epoch; its slot by its
 * own id. Each method is one script; they throw like RedisScript.
 */
@Injectable()
export class FairOrder {
  private readonly prefix: string;
  private readonly keys: readonly string[];
  private readonly marker: string;
  private readonly commandTimeoutMs: number;

  constructor(
    @Inject(PRODUCER_REDIS) private readonly redis: Redis,
    { redisPrefix: prefix, commandTimeoutMs }: RedisConfig,
  ) {
    this.prefix = prefix;
    this.marker = `${prefix}:${IMAGE_QUEUE}:marker`;
    this.commandTimeoutMs = commandTimeoutMs;
    this.keys = [
      ...['rounds', 'accounts', 'handed'].map((name) => `${prefix}:${name}`),
      ...['prioritized', 'wait', 'active'].map((name) => `${prefix}:${IMAGE_QUEUE}:${name}`),
    ];
  }

  /** Takes the callers' next turns, in the order of the callers. */
  async takeTurns(callers: readonly QueueCaller[]): Promise<Turn[]> {
    return (await this.take(callers, ANY)).map(({ turn }) => turn as Turn);
  }

  /** Takes one caller's next turn, unless more than `mostBefore` jobs would be ahead of it; undefined = any number. */
  async takeTurn(caller: QueueCaller, mostBefore?: number): Promise<TurnOffer> {
    return (await this.take([caller], mostBefore ?? ANY))[0] as TurnOffer;
  }

  /** Like `takeTurn`, with a slot for its task: both or neither. */
  async takeTurnAndSlot(
    caller: QueueCaller,
    { task, owner, keys, limits, labels, keptMs, trustedMs }: Slot,
    mostBefore?: number,
  ): Promise<TurnOffer | SlotRefusal> {
    const slot = [`${owner} ${task}`, task, limits.account, limits.key, keptMs, trustedMs];
    const values = [...slot, mostBefore ?? ANY, ...asked(caller), ...labels.map(({ limit }) => limit)];
    const [outcome, ...answer] = (await TAKE_TURN_AND_SLOT.run(
      this.redis,
      [...this.keys, ...keys, ...labels.map(({ key }) => key)],
      [this.prefix, ...values],
    )) as ['taken' | SlotRefusal, ...TurnAnswer];
    return outcome === 'taken' ? offerOf(caller, answer) : outcome;
  }

  /** How many jobs would be ahead of the caller's next task, including running ones. Takes no turn. */
  async before(caller: QueueCaller): Promise<number> {
    return (await this.take([caller], UNTAKEN))[0]?.before ?? 0;
  }

  /** Returns the caller's last turn, unused. */
  async returnTurn(caller: QueueCaller): Promise<void> {
    await this.run(RETURN_TURN, turnsOf(caller));
  }

  /** The same with its task's slot, if both were taken: a frozen Redis takes them only when it resumes. */
  async returnTurnAndSlot(caller: QueueCaller, { task, owner, keys }: Slot): Promise<void> {
    const values = [this.prefix, ...turnsOf(caller), `${owner} ${task}`, task];
    await RETURN_TURN_AND_SLOT.runInFull(this.redis, [...this.keys, ...keys], values);
  }

  /** Puts tasks in line, for turns that are held by jobs. Both are identified by job ids. */
  async join(members: readonly { task: string; job: string; turn: TurnInLine }[]): Promise<void> {
    const values = members.flatMap(({ task, job, turn: { accountId, accountTurn, keyTurn } }) => [
      ...[accountId, task, keyTurn],
      ...[job, accountTurn],
    ]);
    if (values.length > 0) await this.run(JOIN, values);
  }

  /**
   * The task to run for a job that a worker has taken; undefined when its account has none left. `over`: the worker's
   * connection, which may have no time limit of its own.
   */
  async served(job: string, over = this.redis): Promise<NextTask | undefined> {
    if (over.status !== 'ready') throw new Error('Redis is not connected');
    return nextTask(await within(this.commandTimeoutMs, this.next(over, job, '')));
  }

  /** The account's next task, to run in the turn of one that no longer needs to run. */
  async nextAfter({ turn }: NextTask): Promise<NextTask | undefined> {
    if (turn === undefined) return undefined;
    const next = nextTask(await this.next(this.redis, '', turn.accountId));
    return next?.turn && { id: next.id, turn: { ...next.turn, accountTurn: turn.accountTurn } };
  }

  /** Puts the task of a job that has started back in line, because the job is tried again later. */
  async putBack(job: string, { id, turn }: NextTask): Promise<void> {
    if (turn !== undefined) await this.join([{ task: id, job, turn }]);
  }

  /** Takes a task out of line, by its job id. Returns the job that is no longer needed, if there is one. */
  async leave(jobId: string): Promise<string | undefined> {
    const job = (await this.run(LEAVE, [jobId])) as string;
    return job === '' ? undefined : job;
  }

  /** For each task, by its job id, whether no job would run it. */
  async missing(jobIds: readonly string[]): Promise<boolean[]> {
    if (jobIds.length === 0) return [];
    return ((await this.run(MISSING, jobIds)) as number[]).map((lost) => lost === 1);
  }

  /** The positions of tasks, by their job ids; undefined for those that are not in line. */
  async positions(jobIds: readonly string[]): Promise<(QueuePosition | undefined)[]> {
    if (jobIds.length === 0) return [];
    const ranks = (await this.run(POSITIONS, jobIds)) as [number, number][];
    return ranks.map(([rank, before]) => (rank < 0 ? undefined : { position: rank + 1, before }));
  }

  private async take(callers: readonly QueueCaller[], mostBefore: number): Promise<TurnOffer[]> {
    if (callers.length === 0) return [];
    const answers = (await this.run(TAKE_TURNS, [mostBefore, ...callers.flatMap(asked)])) as TurnAnswer[];
    return callers.map((caller, index) => offerOf(caller, answers[index] as TurnAnswer));
  }

  private next(over: Redis, job: string, accountId: string): Promise<unknown> {
    return NEXT.run(over, [...this.keys, this.marker], [this.prefix, job, accountId]);
  }

  private run(script: RedisScript, values: readonly (string | number)[]): Promise<unknown> {
    return script.run(this.redis, this.keys, [this.prefix, ...values]);
  }
}

type TurnAnswer = [priority: number, accountTurn: string, keyTurn: string, before: number];

/** A caller as script arguments. */
function asked({ accountId, accountWeight, originalKeyId, weight }: QueueCaller): (string | number)[] {
  return [accountId, accountWeight, originalKeyId, weight];
}

/** What one turn of a caller adds, as script arguments. */
function turnsOf({ accountId, accountWeight, originalKeyId, weight }: QueueCaller): (string | number)[] {
  return [accountId, STEPS / accountWeight, originalKeyId, 1 / weight];
}

function offerOf({ accountId }: QueueCaller, [priority, accountTurn, keyTurn, before]: TurnAnswer): TurnOffer {
  return { turn: priority === 0 ? undefined : { priority, accountId, accountTurn, keyTurn }, before };
}

function nextTask(answer: unknown): NextTask | undefined {
  const [id, accountId, keyTurn, accountTurn] = answer as string[];
  if (id === undefined) return undefined;
  if (accountId === undefined || keyTurn === undefined || accountTurn === undefined) return { id };
  return { id, turn: { accountId, keyTurn, accountTurn } };
}

/** Throws when there is no answer in time. */
async function within<T>(ms: number, answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('Redis did not answer')), ms);
  });
  return await Promise.race([answer, late]).finally(() => clearTimeout(timer));
}
