import { Injectable } from '@nestjs/common';
import pLimit from 'p-limit';
import { AppError } from '#contract/app-error.js';
import { overloaded } from '#contract/unavailable.js';
import { PrismaService } from '#database/prisma.service.js';
import { EnqueueDeliveries } from '#notifications/deliveries/enqueue-deliveries.js';
import { Metrics } from '#telemetry/metrics.js';
import { inSpan } from '#telemetry/spans.js';
import { adopt, type Intake } from './attach-task.js';
import { CallerGone, type OpenCall } from './open-call.js';
import type { RequestIdentity } from './request-identity.js';
import { RetractTasks } from './retract-tasks.js';
import { TaskIntake } from './task-intake.js';
import { APPROVAL_MS, MAX_HELD, neededApproval } from '../admission/approval.js';
import { tooManyHeld } from '../admission/refusals.js';
import { TaskPlaces, type Place } from '../admission/task-places.js';
import { HeldTasks } from '../reading/held-tasks.js';
import { deadlineOf, TasksConfig } from '../row/tasks.config.js';
import type { TaskCommand } from '../row/task.js';

/**
 * Tasks that one process accepts at a time. Otherwise, when thousands arrive at once, the first would get their row
 * only after the last have been read, and most would wait too long for a connection to Postgres.
 */
const AT_ONCE = 256;
/** A request that has waited this long for its turn is refused: Postgres or Redis is stuck. */
const PATIENCE_MS = 10_000;

interface Submission {
  readonly command: TaskCommand;
  readonly identity: RequestIdentity | undefined;
  /** Undefined for callers that can't disconnect. */
  readonly call: OpenCall | undefined;
}

/** Accepts a task, or finds the one that the request repeats: row first, queue second. */
@Injectable()
export class SubmitTask {
  private readonly limit = pLimit(AT_ONCE);

  constructor(
    private readonly intake: TaskIntake,
    private readonly places: TaskPlaces,
    private readonly config: TasksConfig,
    private readonly metrics: Metrics,
    private readonly retract: RetractTasks,
    private readonly prisma: PrismaService,
    private readonly deliveries: EnqueueDeliveries,
    private readonly held: HeldTasks,
  ) {}

  /**
   * Returns once the row is committed; from then on, the task is sure to end. One that needs an approval is held until then,
   * in the phase `held`. Throws CallerGone when the caller of `call`
   * has disconnected before that, and then has accepted nothing; AppError: `server_is_overloaded` when Redis is down or
   * Postgres does not answer (then any new row is deleted); `concurrency_limit_exceeded` and `queue_full` like TaskPlaces;
   * `concurrency_limit_exceeded` when too many wait for an approval; `idempotency_key_reused` and `idempotency_in_progress` like TaskIntake.
   */
  async submit(command: TaskCommand, identity?: RequestIdentity, call?: OpenCall): Promise<Intake> {
    const { id: taskId, requestId: parent, model, action } = command;
    return inSpan({ name: 'task.accept', parent, fields: { model, action } }, async (span) => {
      const traced = { ...command, traceParent: span.traceparent };
      const since = performance.now();
      const intake = await this.limit(() =>
        this.accept({ command: traced, identity, call }, performance.now() - since),
      );
      span.set({
        taskId: intake.task.id,
        attached: intake.attached,
        outcome: intake.task.id === taskId ? 'new' : 'found',
      });
      return intake;
    });
  }

  /**
   * The task that the request repeats, to which it is attached then; undefined if there is none, so `submit` would create
   * one. Throws like `submit`.
   */
  async attachExisting(
    command: TaskCommand,
    identity: RequestIdentity | undefined,
    call?: OpenCall,
  ): Promise<Intake | undefined> {
    if (identity === undefined) return undefined;
    try {
      const found = await this.limit(() => this.intake.attachExisting(command, identity, call));
      if (found !== undefined) this.metrics.tasksAttached.inc();
      return found;
    } catch (cause) {
      throw this.counted(cause);
    }
  }

  private async accept({ command, identity, call }: Submission, waitedMs: number): Promise<Intake> {
    try {
      if (waitedMs > PATIENCE_MS) throw overloaded();
      const approval = neededApproval(command, deadlineOf(command, this.config));
      if (approval !== undefined) return await this.hold({ command: { ...command, approval }, identity, call });
      const answer = await this.places.take(command);
      if (answer.place === undefined) return await this.repeated({ command, identity, call }, answer.refusal);
      const { place } = answer;
      const intake = await this.take({ command: { ...command, estimatedMs: place.estimatedMs }, identity, call });
      this.count(command, intake);
      if (!intake.attached) await this.enqueue(command, place, intake);
      return intake;
    } catch (cause) {
      throw this.counted(cause);
    }
  }

  /** What the caller gets for a failure, which is counted. */
  private counted(cause: unknown): AppError | CallerGone {
    const error = cause instanceof AppError || cause instanceof CallerGone ? cause : overloaded(cause);
    this.metrics.tasksRefused.inc({ code: error instanceof CallerGone ? 'caller_disconnected' : error.code });
    return error;
  }

  /** A task that needs an approval gets its row and its reserve, and takes a place once it is approved (ApproveTask). */
  private async hold({ command, identity, call }: Submission): Promise<Intake> {
    const { count } = await this.held.figures(command.accountId);
    if (count >= MAX_HELD) return await this.repeated({ command, identity, call }, tooManyHeld());
    const intake = await this.insert({ command, identity, call }, APPROVAL_MS);
    this.count(command, intake);
    if (!intake.attached) this.deliveries.enqueueOfTask(command.id);
    return intake;
  }

  private count({ model, action, cost }: TaskCommand, { attached }: Intake): void {
    if (attached) {
      this.metrics.tasksAttached.inc();
      return;
    }
    this.metrics.tasksAccepted.inc({ model, action });
    if (cost?.reserved === null && cost.tokens === undefined) this.metrics.tasksUnpriced.inc({ model });
  }

  /** Whether a refused request may have made a row all the same, which was not deleted or requested again yet. */
  mayBeAccepted(taskId: string): boolean {
    return this.retract.has(taskId);
  }

  private async take(submission: Submission): Promise<Intake> {
    const { command } = submission;
    let taken = false;
    try {
      const intake = await this.insert(submission, deadlineOf(command, this.config));
      taken = !intake.attached;
      return intake;
    } finally {
      if (!taken) this.places.returnPlace(command);
    }
  }

  private async insert({ command, identity, call }: Submission, deadlineMs: number): Promise<Intake> {
    try {
      return await this.intake.take(command, deadlineMs, identity, call);
    } catch (error) {
      // The caller is refused, but the row may exist all the same, or may yet be written.
      if (!(error instanceof AppError || error instanceof CallerGone)) this.retract.add(command.id);
      throw error;
    }
  }

  /** If Redis fails, the row remains: the sweep enqueues it, and sooner when it is marked as wanted. */
  private async enqueue(command: TaskCommand, place: Place, { task }: Intake): Promise<void> {
    if (await this.places.enqueue(command, place)) return;
    adopt(this.prisma, task).catch(() => undefined);
  }

  /** A request that repeats an accepted one gets that one's task, without a place; others get the refusal. */
  private async repeated({ command, identity, call }: Submission, refusal: AppError): Promise<Intake> {
    const found = await this.intake.attachExisting(command, identity, call);
    if (found === undefined) throw refusal;
    this.metrics.tasksAttached.inc();
    return found;
  }
}
