import { Injectable } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import { inTransaction } from '#database/queryable.js';
import { PrismaService } from '#database/prisma.service.js';
import { refusalOf } from '#billing/budget-refusal.js';
import { LostCallers } from './lost-callers.js';
import { assertPresent, CallerGone, readClosedConnections, type OpenCall } from './open-call.js';
import type { RequestIdentity } from './request-identity.js';
import { takeBack } from './retract-tasks.js';
import { toTask } from '../row/task-columns.js';
import type { ProviderCall } from '../row/provider-call.js';
import { lockEqualRequests, takeUndelivered, type AttachingRequest } from '../row/equal-requests.sql.js';
import { insertTasks, UNDERWAY_MS, type FirstTry, type KeyedRequest } from '../row/insert-task.sql.js';
import { readTasks } from '../row/read-task.sql.js';
import { TaskStore } from '../reading/task-store.js';
import type { Task, TaskCommand } from '../row/task.js';
import { TasksConfig } from '../row/tasks.config.js';

/** How long an Idempotency-Key gets the same task, in hours: the contract's, and the longest that a task may take. */
export const IDEMPOTENCY_KEY_HOURS = 24;
/** Tries to get the task that a request repeats: it may vanish before it is read, but hardly several times in a row. */
const TRIES = 3;
/** Most tasks of equal requests to check: the same request may have failed many times within a minute. */
const MAX_CANDIDATES = 100;

const HOUR_MS = 3_600_000;
/** How long an equal request gets a failure that may have been charged instead of a new task, in ms. */
const FAILURE_REPEATED_MS = 60_000;

/** The task of a request: a new one, or (`attached`) the one that an earlier try of the same request made. */
export interface Intake {
  readonly task: Task;
  readonly attached: boolean;
}

/** A request without a key, on its way to a task. */
interface UnkeyedRequest {
  readonly command: TaskCommand;
  readonly deadlineMs: number;
  readonly fingerprint: Buffer;
  /** Undefined for callers that can't disconnect. */
  readonly call: OpenCall | undefined;
}

/** A request without a key that this process is accepting. */
interface Accepting {
  readonly call: OpenCall;
  readonly accepted: Promise<unknown>;
}

/**
 * Inserts tasks, except that a request that repeats another one gets that one's task instead of making a second.
 * The database decides, so this holds for parallel calls at any number of processes, and however long anything stalls:
 * a try that comes too late finds the task of the retry that did not wait for it.
 */
@Injectable()
export class TaskIntake {
  /** By fingerprint. */
  private readonly accepting = new Map<string, Set<Accepting>>();

  constructor(
    private readonly prisma: PrismaService,
    private readonly store: TaskStore,
    private readonly config: TasksConfig,
    private readonly lost: LostCallers,
  ) {}

  /**
   * Once this returns, the task is sure to end.
   * Throws CallerGone, and then has made no task; AppError: `idempotency_key_reused` when the key belongs to another
   * request, `idempotency_in_progress` when it belongs to a task that can't be read; `insufficient_quota` and
   * `model_not_allowed` when a budget forbids it; `already_exists` when the failed task that it retries was retried
   * before.
   */
  async take(command: TaskCommand, deadlineMs: number, identity?: RequestIdentity, call?: OpenCall): Promise<Intake> {
    const taken = this.known(identity, call, () => this.takeOnce(command, deadlineMs, identity, call));
    return taken.catch((error: unknown) => {
      throw refusalOf(error) ?? retriedAlready(error) ?? this.left(command, identity, error);
    });
  }

  /** After an error, no caller waits for a task that the request may have attached to. */
  private left({ requestId }: TaskCommand, identity: RequestIdentity | undefined, error: unknown): unknown {
    if (identity?.kind === 'unkeyed') this.store.abandonAttached(identity.fingerprint, requestId);
    return error;
  }

  /** Lets equal requests find out that this process is accepting one. */
  private async known(
    identity: RequestIdentity | undefined,
    call: OpenCall | undefined,
    take: () => Promise<Intake>,
  ): Promise<Intake> {
    const accepted = take();
    if (identity?.kind !== 'unkeyed' || call === undefined) return accepted;
    const fingerprint = identity.fingerprint.toString('hex');
    const others = this.accepting.get(fingerprint) ?? new Set<Accepting>();
    const one = { call, accepted };
    this.accepting.set(fingerprint, others.add(one));
    try {
      return await accepted;
    } finally {
      others.delete(one);
      if (others.size === 0) this.accepting.delete(fingerprint);
    }
  }

  /**
   * Returns once the database knows which callers of equal requests have left this process, also of requests that are
   * being accepted. Throws what the database throws.
   */
  async settle(fingerprint: Buffer): Promise<void> {
    const equal = [...(this.accepting.get(fingerprint.toString('hex')) ?? [])];
    await Promise.allSettled(equal.flatMap(({ call, accepted }) => (call.gone.aborted ? accepted : [])));
    await this.store.settleAbandoned(fingerprint);
  }

  /** Like `settle`, for a process that asks, also about connections whose end has not been read yet. */
  async settleAsked(fingerprint: Buffer): Promise<void> {
    // Twice, because what follows from a closed connection takes some turns, too.
    await readClosedConnections();
    await readClosedConnections();
    await this.settle(fingerprint);
  }

  private async takeOnce(
    command: TaskCommand,
    deadlineMs: number,
    identity?: RequestIdentity,
    call?: OpenCall,
  ): Promise<Intake> {
    if (identity === undefined) return created(await this.store.insert(command, deadlineMs));
    const since = performance.now();
    for (let tries = 0; tries < TRIES; tries++) {
      await assertPresent(call);
      const taken =
        identity.kind === 'keyed'
          ? await this.takeKeyed(command, deadlineMs, identity)
          : await this.takeUnkeyed({ command, deadlineMs, fingerprint: identity.fingerprint, call }, identity.retry);
      if (taken === undefined) continue;
      if (performance.now() - since > UNDERWAY_MS) await readClosedConnections();
      await this.assertWanted(taken, command, identity, call);
      return taken;
    }
    if (identity.kind === 'keyed') throw unreadable();
    return created(await this.store.insert(command, deadlineMs, identity.fingerprint, this.lost.waiter));
  }

  /** The existing task that the request repeats, if any. Throws like `take`. */
  async find(
    command: TaskCommand,
    identity: RequestIdentity | undefined,
    call?: OpenCall,
  ): Promise<Intake | undefined> {
    if (identity === undefined) return undefined;
    if (identity.kind === 'keyed') return this.findKeyed(command, identity);
    const request = { command, deadlineMs: 0, fingerprint: identity.fingerprint, call };
    return this.findEqual(request, identity.retry).catch((error: unknown) => {
      throw this.left(command, identity, error);
    });
  }

  private async findEqual(request: UnkeyedRequest, retry: number): Promise<Intake | undefined> {
    await this.settle(request.fingerprint);
    if (retry === 0) return (await this.takeAbandoned(request)) ?? (await this.askOthers(request)).taken;
    const id = await takeUndelivered(this.prisma.pool, this.attaching(request));
    return id === undefined ? undefined : this.attach(id);
  }

  /** Undefined when the task that the request repeats vanished before it could be read. */
  private async takeUnkeyed(request: UnkeyedRequest, retry: number): Promise<Intake | undefined> {
    const since = performance.now();
    const taken = retry > 0 ? await this.takeRetried(request) : await this.takeFirst(request);
    if (taken === undefined) return undefined;
    // What the statements knew of the request's age may be wrong by as much.
    const isLate = performance.now() - since > UNDERWAY_MS;
    return taken.attached || !isLate ? taken : await this.yieldToRetry(request, taken);
  }

  /**
   * A caller who left while its row was on its way may have sent the request again, perhaps to another process, which
   * can't know of this one. Takes the row back then, and throws CallerGone; if another request has attached to it, or
   * this one has to another task, others may get that.
   */
  private async assertWanted(
    { task, attached }: Intake,
    command: TaskCommand,
    identity: RequestIdentity,
    call: OpenCall | undefined,
  ): Promise<void> {
    if (call?.gone.aborted !== true) return;
    if (!attached && (await takeBack(this.prisma, task.id).catch(() => false))) throw new CallerGone();
    if (identity.kind === 'keyed') return;
    await this.store.markAbandoned(task.id, command.requestId, identity.fingerprint).catch(() => undefined);
  }

  /**
   * The first try of a call. It checks callers of equal requests at other processes only if there are any, because that
   * takes more statements and a message to them.
   */
  private async takeFirst(request: UnkeyedRequest): Promise<Intake | undefined> {
    const { command, deadlineMs, fingerprint, call } = request;
    await this.settle(fingerprint);
    await assertPresent(call);
    const found = { fingerprint, waiter: this.lost.waiter };
    const task = await this.store.insertUnlessFound(command, deadlineMs, {
      ...found,
      firstTry: this.firstTry(request),
    });
    if (task !== undefined) return created(task);
    let seen: readonly string[] = [];
    for (let tries = 0; tries < TRIES; tries++) {
      await assertPresent(call);
      const row = await this.insertAlone(request, seen);
      if (row !== undefined) return created(row);
      const existing = (await this.takeOfRetry(request)) ?? (await this.takeAbandoned(request));
      if (existing !== undefined) return existing;
      const asked = await this.askOthers(request);
      if (asked.taken !== undefined) return asked.taken;
      seen = asked.waitedFor;
    }
    // So many equal requests come at once that there is always a new one.
    await assertPresent(call);
    return created(await this.store.insert(command, deadlineMs, fingerprint, this.lost.waiter));
  }

  private firstTry({ call }: UnkeyedRequest, seen: readonly string[] = []): FirstTry {
    return {
      attachWindowMs: this.config.attachWindowMs,
      here: this.lost.waiter ?? '',
      seen,
      ageMs: call?.ageMs() ?? 0,
    };
  }

  /** Inserts the task of a first try after equal requests that are being accepted; undefined like `insertUnlessFound`. */
  private async insertAlone(request: UnkeyedRequest, seen: readonly string[]): Promise<Task | undefined> {
    const { command, deadlineMs, fingerprint } = request;
    const [row] = await inTransaction(this.prisma.pool, async (client) => {
      await lockEqualRequests(client, { fingerprint, apiKeyId: command.apiKeyId });
      const found = { fingerprint, waiter: this.lost.waiter, firstTry: this.firstTry(request, seen) };
      return await insertTasks(client, [{ command, deadlineMs, ...found }]);
    });
    return row && toTask(row);
  }

  /**
   * The task that a later try of the same call made, or attached to, because this one was late. Its caller waits for
   * that one, so this request only reads it.
   */
  private async takeOfRetry({ command, fingerprint, call }: UnkeyedRequest): Promise<Intake | undefined> {
    if (call === undefined) return undefined;
    const { apiKeyId } = command;
    const arrived = (await this.prisma.now()).getTime() - call.ageMs();
    const found = await this.prisma.task.findFirst({
      where: {
        fingerprint: new Uint8Array(fingerprint),
        apiKeyId,
        id: { not: command.id },
        attachedBy: { not: null, notIn: [command.requestId] },
        createdAt: { gt: new Date(arrived - UNDERWAY_MS) },
        OR: [{ finishedAt: null }, { createdAt: { gt: new Date(arrived) } }],
      },
      orderBy: { createdAt: 'asc' },
      select: { id: true },
    });
    return found === null ? undefined : this.attach(found.id);
  }

  /** The task of a later try, if there is one and nothing has happened to this one's yet, which is then deleted. */
  private async yieldToRetry(request: UnkeyedRequest, taken: Intake): Promise<Intake | undefined> {
    const other = await this.takeOfRetry(request);
    if (other === undefined || !(await takeBack(this.prisma, taken.task.id))) return taken;
    return other;
  }

  /**
   * Asks the other processes where callers of equal requests wait whether they still do. `taken`: the task of one that
   * does not; `waitedFor`: the tasks of those that do.
   */
  private async askOthers(
    request: UnkeyedRequest,
  ): Promise<{ taken: Intake | undefined; waitedFor: readonly string[] }> {
    const { command, fingerprint } = request;
    const asked = { apiKeyId: command.apiKeyId, fingerprint, windowMs: this.config.attachWindowMs };
    const waitedFor = await this.lost.askOthers(asked);
    return { taken: await this.takeAbandoned(request), waitedFor };
  }

  private attaching({ command, fingerprint, call }: UnkeyedRequest): AttachingRequest {
    const { apiKeyId, requestId } = command;
    return { fingerprint, apiKeyId, requestId, waiter: this.lost.waiter, ageMs: call?.ageMs() ?? 0 };
  }

  /**
   * An equal request's task: the one that was abandoned last, or else one whose failure may have been charged;
   * first_try_may_insert has the same rule. Of several simultaneous requests, one gets an abandoned task.
   */
  private async takeAbandoned({ command, fingerprint }: UnkeyedRequest): Promise<Intake | undefined> {
    const { apiKeyId, requestId } = command;
    const waiter = this.lost.waiter ?? null;
    const now = (await this.prisma.now()).getTime();
    const found = await this.prisma.task.findMany({
      where: {
        fingerprint: new Uint8Array(fingerprint),
        apiKeyId,
        OR: [
          {
            abandonedAt: { gt: new Date(now - this.config.attachWindowMs) },
            deliveredAt: null,
            status: { in: ['pending', 'completed'] },
          },
          { status: 'failed', finishedAt: { gt: new Date(now - FAILURE_REPEATED_MS) } },
        ],
      },
      select: { id: true, status: true, abandonedAt: true, calls: true },
      orderBy: [{ abandonedAt: { sort: 'desc', nulls: 'last' } }, { createdAt: 'desc' }, { id: 'desc' }],
      take: MAX_CANDIDATES,
    });
    for (const { id, status, abandonedAt, calls } of found) {
      if (status === 'failed' && !wasCharged((calls as unknown as readonly ProviderCall[]).at(-1))) continue;
      const { count } = await this.prisma.task.updateMany({
        where: { id, abandonedAt },
        data: { abandonedAt: null, attachedBy: requestId, waiter },
      });
      if (count === 1) return this.attach(id);
    }
    return undefined;
  }

  /**
   * Marks a queued task as wanted, so that RetractTasks leaves it alone; false if it was marked before, claimed, or
   * deleted. Writes a time that came from the database, because claims compare it with the database's clock.
   */
  async adopt({ id, createdAt }: Pick<Task, 'id' | 'createdAt'>): Promise<boolean> {
    const { count } = await this.prisma.task.updateMany({
      where: { id, phase: 'queued', nextTryAt: null },
      data: { nextTryAt: createdAt },
    });
    return count === 1;
  }

  /** Undefined if RetractTasks has just deleted the row, which it never does once a worker has held it. */
  private async attach(id: string): Promise<Intake | undefined> {
    const [row] = await readTasks(this.prisma.pool, [id], false);
    if (row === undefined) return undefined;
    const task = toTask(row);
    if (row.phase !== 'queued' || row.wanted || (await this.adopt(task))) return { task, attached: true };
    const [again] = await readTasks(this.prisma.pool, [id], false);
    return again && { task: toTask(again), attached: true };
  }

  private async takeKeyed(
    command: TaskCommand,
    deadlineMs: number,
    request: KeyedRequest,
  ): Promise<Intake | undefined> {
    const keptMs = IDEMPOTENCY_KEY_HOURS * HOUR_MS;
    const task = await this.store.insertUnlessFound(command, deadlineMs, { request: { ...request, keptMs } });
    return task === undefined ? this.findKeyed(command, request) : created(task);
  }

  /** Undefined when the key is unused or expired, or its task is gone. */
  private async findKeyed(
    { accountId, own }: TaskCommand,
    { key, fingerprint }: KeyedRequest,
  ): Promise<Intake | undefined> {
    const lease = await this.prisma.idempotencyKey.findUnique({
      where: { accountId_key: { accountId, key }, expiresAt: { gt: new Date() } },
    });
    if (lease === null) return undefined;
    const { taskId } = lease;
    // To a caller who may not see its task, the key is one that another request has used.
    const isSeen = (await this.store.within({ accountId, own }, [taskId])).has(taskId);
    if (!isSeen || !fingerprint.equals(lease.fingerprint)) {
      throw new AppError('idempotency_key_reused', 'This Idempotency-Key was already used for a different request.', {
        param: 'Idempotency-Key',
      });
    }
    return this.attach(taskId);
  }

  /**
   * Serializes equal requests, because a later one must see an earlier one's row. Has its own connection: with one of
   * Prisma's, the insert would need a second one, from a pool that retries may have exhausted.
   */
  private async takeRetried(request: UnkeyedRequest): Promise<Intake | undefined> {
    const { command, deadlineMs, fingerprint, call } = request;
    const wanted = this.attaching(request);
    const { requestId: attachedBy } = command;
    const taken = await inTransaction(this.prisma.pool, async (client) => {
      const earlier = (await takeUndelivered(client, wanted)) ?? (await takeUndelivered(client, wanted));
      if (earlier !== undefined) return { earlier, row: undefined };
      await assertPresent(call);
      const found = { fingerprint, waiter: this.lost.waiter, attachedBy };
      const [row] = await insertTasks(client, [{ command, deadlineMs, ...found }]);
      return { earlier, row };
    });
    if (taken.earlier !== undefined) return this.attach(taken.earlier);
    return taken.row && created(toTask(taken.row));
  }
}

/** Whether a failed call was, or may have been, charged. */
function wasCharged(call: ProviderCall | undefined): boolean {
  return call !== undefined && !call.free && (call.charged ?? 'maybe') !== 'no';
}

function created(task: Task): Intake {
  return { task, attached: false };
}

/** The refusal for an insert that failed because the task it retries was retried before; undefined for other errors. */
function retriedAlready(error: unknown): AppError | undefined {
  const { code, constraint } = error as { code?: unknown; constraint?: unknown };
  if (code !== '23505' || constraint !== 'tasks_retry_of_key') return undefined;
  return new AppError('already_exists', 'It was already retried.');
}

function unreadable(): AppError {
  return new AppError('idempotency_in_progress', 'Another request with this Idempotency-Key is still being accepted.', {
    param: 'Idempotency-Key',
    retryAfter: 2,
  });
}
