import { Injectable } from '@nestjs/common';
import { inTransaction } from '#database/queryable.js';
import { PrismaService } from '#database/prisma.service.js';
import { takeApproval } from '../row/approval.sql.js';
import { lockEqualRequests, takeUndelivered, type AttachingRequest } from '../row/equal-requests.sql.js';
import { insertTasks, UNDERWAY_MS, type FirstTry } from '../row/insert-task.sql.js';
import type { ProviderCall } from '../row/provider-call.js';
import { toTask } from '../row/task-columns.js';
import type { Task, TaskCommand } from '../row/task.js';
import { TasksConfig } from '../row/tasks.config.js';
import { attach, created, type Intake } from './attach-task.js';
import { DepartedCallers } from './departed-callers.js';
import { InsertTasks } from './insert-tasks.js';
import { LostCallers } from './lost-callers.js';
import { assertPresent, type OpenCall } from './open-call.js';
import { deleteUnwanted } from './retract-tasks.js';

/** How often a first try looks again, because another equal request came while it did. */
const TRIES = 3;
/** Most tasks of equal requests to check: the same request may have failed many times within a minute. */
const MAX_CANDIDATES = 100;
/** How long an equal request gets a failure that may have been charged instead of a new task, in ms. */
const FAILURE_REPEATED_MS = 60_000;

/** A request without a key. */
export interface UnkeyedRequest {
  readonly command: TaskCommand;
  readonly deadlineMs: number;
  readonly fingerprint: Buffer;
  /** The tries before this one. */
  readonly retry: number;
  /** Undefined for callers that can't disconnect. */
  readonly call: OpenCall | undefined;
}

/** What decides which tasks a request may get. */
type Wanting = Omit<UnkeyedRequest, 'deadlineMs' | 'retry'>;

/**
 * Requests without a key, which may be tries of one call. A first try gets the task of an equal request only if its
 * caller has left; a counted retry gets any whose outcome was not delivered.
 */
@Injectable()
export class EqualRequests {
  constructor(
    private readonly prisma: PrismaService,
    private readonly config: TasksConfig,
    private readonly inserts: InsertTasks,
    private readonly departed: DepartedCallers,
    private readonly lost: LostCallers,
  ) {}

  /** A new task, or an equal request's; undefined when that vanished before it could be read. */
  async take(request: UnkeyedRequest): Promise<Intake | undefined> {
    const { approval, asynchronous } = request.command;
    if (approval !== undefined && !asynchronous) return await this.takeHeld(request);
    return request.retry > 0 ? await this.takeRetry(request) : await this.takeFirst(request);
  }

  /**
   * A synchronous request that needs an approval: its caller is refused until there is one, so each equal request gets the
   * same task until an answer has told its outcome. Serializes equal requests like `takeRetry`.
   */
  private async takeHeld(request: UnkeyedRequest): Promise<Intake | undefined> {
    const { command, deadlineMs, fingerprint, retry, call } = request;
    const { apiKeyId, requestId } = command;
    const taken = await inTransaction(this.prisma.pool, async (client) => {
      await lockEqualRequests(client, { fingerprint, apiKeyId });
      const earlier =
        (await takeApproval(client, { fingerprint, apiKeyId, requestId })) ??
        (retry > 0 ? await takeUndelivered(client, this.attaching(request)) : undefined);
      if (earlier !== undefined) return { earlier, row: undefined };
      await assertPresent(call);
      const [row] = await insertTasks(client, [{ command, deadlineMs, fingerprint }]);
      return { earlier, row };
    });
    const intake =
      taken.earlier === undefined ? taken.row && created(toTask(taken.row)) : await attach(this.prisma, taken.earlier);
    return intake && { ...intake, isRepeatable: true };
  }

  /**
   * The same task for a synchronous request that needs no approval itself: its caller was refused before a threshold or
   * price changed, and sends the request again.
   */
  private async takeHeldBefore({ command, fingerprint }: Wanting): Promise<Intake | undefined> {
    const { asynchronous, apiKeyId, requestId } = command;
    if (asynchronous) return undefined;
    const id = await takeApproval(this.prisma.pool, { fingerprint, apiKeyId, requestId });
    const intake = id === undefined ? undefined : await attach(this.prisma, id);
    return intake && { ...intake, isRepeatable: true };
  }

  /**
   * Attaches the request to the task that `take` would find instead of making one: it is this caller's from then on, and
   * no longer abandoned.
   */
  async attachExisting(request: Omit<UnkeyedRequest, 'deadlineMs'>): Promise<Intake | undefined> {
    await this.departed.waitForMarks(request.fingerprint);
    const held = await this.takeHeldBefore(request);
    if (held !== undefined) return held;
    if (request.retry === 0) return (await this.takeAbandoned(request)) ?? (await this.askOthers(request)).taken;
    // Once is enough: the request was refused already, so at worst the refusal stands, and nothing is bought.
    const id = await takeUndelivered(this.prisma.pool, this.attaching(request));
    return id === undefined ? undefined : attach(this.prisma, id);
  }

  /** A new task in any case. */
  async insert({ command, deadlineMs, fingerprint }: Omit<UnkeyedRequest, 'retry' | 'call'>): Promise<Intake> {
    return created(await this.inserts.insert(command, deadlineMs, { fingerprint, waiter: this.lost.waiter }));
  }

  /**
   * The first try of a call. It looks for a task that needed an approval, and checks callers of equal requests at other
   * processes, only if there are any, because that takes more statements and a message to them.
   */
  private async takeFirst(request: UnkeyedRequest): Promise<Intake | undefined> {
    const { command, deadlineMs, fingerprint, call } = request;
    await this.departed.waitForMarks(fingerprint);
    await assertPresent(call);
    const found = { fingerprint, waiter: this.lost.waiter, firstTry: this.firstTry(request) };
    const task = await this.inserts.insertUnlessFound(command, deadlineMs, found);
    // Usually, there is no equal request, and this was the only statement.
    if (task !== undefined) return created(task);
    let seen: readonly string[] = [];
    for (let tries = 0; tries < TRIES; tries++) {
      await assertPresent(call);
      const row = await this.insertAlone(request, seen);
      if (row !== undefined) return created(row);
      const existing =
        (await this.takeHeldBefore(request)) ??
        (await this.takeOfRetry(request)) ??
        (await this.takeAbandoned(request));
      if (existing !== undefined) return existing;
      const asked = await this.askOthers(request);
      if (asked.taken !== undefined) return asked.taken;
      seen = asked.waitedFor;
    }
    // So many equal requests come at once that there is always a new one.
    await assertPresent(call);
    return await this.insert(request);
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

  private firstTry({ call }: Wanting, seen: readonly string[] = []): FirstTry {
    return {
      attachWindowMs: this.config.attachWindowMs,
      here: this.lost.waiter ?? '',
      seen,
      ageMs: call?.ageMs() ?? 0,
    };
  }

  /**
   * A later try of a call. Serializes equal requests, because a later one must see an earlier one's row. Has its own
   * connection: with one of Prisma's, the insert would need a second one, from a pool that retries may have exhausted.
   */
  private async takeRetry(request: UnkeyedRequest): Promise<Intake | undefined> {
    const { command, deadlineMs, fingerprint, call } = request;
    const wanted = this.attaching(request);
    const { requestId: attachedBy } = command;
    const taken = await inTransaction(this.prisma.pool, async (client) => {
      // Twice, because the first answer may predate the wait for the lock.
      const earlier = (await takeUndelivered(client, wanted)) ?? (await takeUndelivered(client, wanted));
      if (earlier !== undefined) return { earlier, row: undefined };
      await assertPresent(call);
      const found = { fingerprint, waiter: this.lost.waiter, attachedBy };
      const [row] = await insertTasks(client, [{ command, deadlineMs, ...found }]);
      return { earlier, row };
    });
    if (taken.earlier !== undefined) return attach(this.prisma, taken.earlier);
    return taken.row && created(toTask(taken.row));
  }

  private attaching({ command, fingerprint, call }: Wanting): AttachingRequest {
    const { apiKeyId, requestId } = command;
    return { fingerprint, apiKeyId, requestId, waiter: this.lost.waiter, ageMs: call?.ageMs() ?? 0 };
  }

  /** The task of a later try, if there is one and nothing has happened to this one's yet, which is then deleted. */
  async yieldToRetry(request: Wanting, taken: Intake): Promise<Intake> {
    const other = await this.takeOfRetry(request);
    if (other === undefined || !(await deleteUnwanted(this.prisma, taken.task.id))) return taken;
    return other;
  }

  /**
   * The task that a later try of the same call made, or attached to, because this one was late. Its caller waits for
   * that one, so this request only reads it.
   */
  private async takeOfRetry({ command, fingerprint, call }: Wanting): Promise<Intake | undefined> {
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
    return found === null ? undefined : attach(this.prisma, found.id);
  }

  /**
   * Asks the other processes where callers of equal requests wait whether they still do. `taken`: the task of one that
   * does not; `waitedFor`: the tasks of those that do.
   */
  private async askOthers(request: Wanting): Promise<{ taken: Intake | undefined; waitedFor: readonly string[] }> {
    const { command, fingerprint } = request;
    const asked = { apiKeyId: command.apiKeyId, fingerprint, windowMs: this.config.attachWindowMs };
    const waitedFor = await this.lost.askOthers(asked);
    return { taken: await this.takeAbandoned(request), waitedFor };
  }

  /**
   * An equal request's task: the one that was abandoned last, or else one whose failure may have been charged;
   * first_try_may_insert has the same rule. Of several simultaneous requests, one gets an abandoned task.
   */
  private async takeAbandoned({ command, fingerprint }: Wanting): Promise<Intake | undefined> {
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
      if (count === 1) return attach(this.prisma, id);
    }
    return undefined;
  }
}

/** Whether a failed call was, or may have been, charged. */
function wasCharged(call: ProviderCall | undefined): boolean {
  return call !== undefined && !call.free && (call.charged ?? 'maybe') !== 'no';
}
