import { Injectable } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import { PrismaService } from '#database/prisma.service.js';
import { refusalOf } from '#billing/budget-refusal.js';
import { UNDERWAY_MS } from '../row/insert-task.sql.js';
import type { TaskCommand } from '../row/task.js';
import { created, type Intake } from './attach-task.js';
import { DepartedCallers } from './departed-callers.js';
import { EqualRequests } from './equal-requests.js';
import { InsertTasks } from './insert-tasks.js';
import { keyInProgress, KeyedRequests } from './keyed-requests.js';
import { assertPresent, CallerGone, readClosedConnections, type OpenCall } from './open-call.js';
import type { RequestIdentity } from './request-identity.js';
import { deleteUnwanted } from './retract-tasks.js';

/** Tries to get the task that a request repeats: it may vanish before it is read, but hardly several times in a row. */
const TRIES = 3;

/** A request that may repeat another one, or be repeated. */
interface IdentifiedRequest {
  readonly command: TaskCommand;
  readonly deadlineMs: number;
  readonly identity: RequestIdentity;
  /** Undefined for callers that can't disconnect. */
  readonly call: OpenCall | undefined;
}

/**
 * Inserts tasks, except that a request that repeats another one gets that one's task instead of making a second.
 * The database decides, so this holds for parallel calls at any number of processes, and however long anything stalls:
 * a try that comes too late finds the task of the retry that did not wait for it.
 */
@Injectable()
export class TaskIntake {
  constructor(
    private readonly prisma: PrismaService,
    private readonly inserts: InsertTasks,
    private readonly keyed: KeyedRequests,
    private readonly equal: EqualRequests,
    private readonly departed: DepartedCallers,
  ) {}

  /**
   * Once this returns, the task is sure to end.
   * Throws CallerGone, and then has made no task; AppError: `idempotency_key_reused` when the key belongs to another
   * request, `idempotency_in_progress` when it belongs to a task that can't be read; `insufficient_quota` and
   * `model_not_allowed` when a budget forbids it; `already_exists` when the failed task that it retries was retried
   * before.
   */
  async take(command: TaskCommand, deadlineMs: number, identity?: RequestIdentity, call?: OpenCall): Promise<Intake> {
    try {
      if (identity === undefined) return created(await this.inserts.insert(command, deadlineMs));
      const taken = this.takeOnce({ command, deadlineMs, identity, call });
      if (identity.kind === 'keyed' || call === undefined) return await taken;
      return await this.departed.watch(identity.fingerprint, call, taken);
    } catch (error) {
      throw (
        refusalOf(error, command.cost?.currency ?? '') ?? retriedAlready(error) ?? this.left(command, identity, error)
      );
    }
  }

  /**
   * Attaches the request to the existing task that it repeats, if any: the task is wanted from then on, and without a
   * key, it is this caller's and no longer abandoned. Throws like `take`.
   */
  async attachExisting(
    command: TaskCommand,
    identity: RequestIdentity | undefined,
    call?: OpenCall,
  ): Promise<Intake | undefined> {
    if (identity === undefined) return undefined;
    if (identity.kind === 'keyed') return await this.keyed.attachExisting(command, identity);
    try {
      return await this.equal.attachExisting({ ...identity, command, call });
    } catch (error) {
      throw this.left(command, identity, error);
    }
  }

  private async takeOnce(request: IdentifiedRequest): Promise<Intake> {
    const { command, deadlineMs, identity, call } = request;
    const since = performance.now();
    for (let tries = 0; tries < TRIES; tries++) {
      await assertPresent(call);
      const begun = performance.now();
      const taken =
        identity.kind === 'keyed'
          ? await this.keyed.take(command, deadlineMs, identity)
          : await this.equal.take({ ...identity, command, deadlineMs, call });
      if (taken !== undefined) return await this.afterRow(taken, request, { since, begun });
    }
    if (identity.kind === 'keyed') throw keyInProgress();
    return await this.equal.insert({ command, deadlineMs, fingerprint: identity.fingerprint });
  }

  /**
   * Decides about the task that a request has got, by what happened while its statements were on their way.
   *
   * A request that was late leaves the task to its own retry.
   *
   * A caller who left meanwhile may have sent the request again, perhaps to another process, which can't know of this
   * one. Deletes the row then, and throws CallerGone; if another request has attached to it, or this one has to
   * another task, others may get that.
   */
  private async afterRow(
    taken: Intake,
    { command, identity, call }: IdentifiedRequest,
    { since, begun }: { readonly since: number; readonly begun: number },
  ): Promise<Intake> {
    // What the statements knew of the request's age may be wrong by as much.
    const isLate = identity.kind === 'unkeyed' && !taken.attached && performance.now() - begun > UNDERWAY_MS;
    const { fingerprint } = identity;
    const kept = isLate ? await this.equal.yieldToRetry({ command, fingerprint, call }, taken) : taken;
    if (performance.now() - since > UNDERWAY_MS) await readClosedConnections();
    if (call?.gone.aborted !== true) return kept;
    const { task, attached } = kept;
    if (!attached && (await deleteUnwanted(this.prisma, task.id).catch(() => false))) throw new CallerGone();
    if (identity.kind === 'unkeyed') {
      await this.departed.markAbandoned(task.id, command.requestId, fingerprint).catch(() => undefined);
    }
    return kept;
  }

  /** After an error, no caller waits for a task that the request may have attached to. */
  private left({ requestId }: TaskCommand, identity: RequestIdentity | undefined, error: unknown): unknown {
    if (identity?.kind === 'unkeyed') this.departed.abandonAttached(identity.fingerprint, requestId);
    return error;
  }
}

/** The refusal for an insert that failed because the task it retries was retried before; undefined for other errors. */
function retriedAlready(error: unknown): AppError | undefined {
  const { code, constraint } = error as { code?: unknown; constraint?: unknown };
  if (code !== '23505' || constraint !== 'tasks_retry_of_key') return undefined;
  return new AppError('already_exists', 'It was already retried.');
}
