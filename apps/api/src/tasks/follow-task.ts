import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { QueuePosition } from '#queue/fair-order.js';
import { isFinal } from '#tasks/row/task-status.js';
import { isDeleted, taskDeleted, type TaskSummary } from '#tasks/row/task.js';
import { AppError } from '#contract/app-error.js';
import { AccessWatch } from '../common/access-watch.js';
import { Draining } from '../common/draining.js';
import type { EventStream } from '../common/events/event-stream.js';
import { EventStreams } from '../common/events/event-streams.js';
import { sourceOf } from '../common/source-of.js';
import { errorBody } from '../common/error-reply.js';
import { TaskViews } from '#answers/task-views.js';
import { FollowerLimit } from './follower-limit.js';
import { TaskWatchers } from './task-watchers.js';

/** What an event stream shows of a task; by default the public view. */
export interface Shown {
  readonly dataOf: (task: TaskSummary, position?: QueuePosition) => object | Promise<object>;
  /** Starts additional events of the stream; returns a function that stops them. */
  readonly begin: (events: EventStream) => () => void;
}

/** Responses that follow a task: the long poll and the event stream. */
@Injectable()
export class FollowTask {
  constructor(
    private readonly watchers: TaskWatchers,
    private readonly limit: FollowerLimit,
    private readonly draining: Draining,
    private readonly views: TaskViews,
    private readonly streams: EventStreams,
    private readonly access: AccessWatch,
  ) {}

  /**
   * The task at its next change of status or phase; its last known state after `waitMs`, when the caller disconnects,
   * or during shutdown. Throws the AppError that the caller would be refused with once it may no longer see the task.
   */
  async changed(task: TaskSummary, waitMs: number, reply: FastifyReply): Promise<TaskSummary> {
    // Logged with the request, also when the caller disconnects early.
    reply.request.taskId = task.id;
    if (isFinal(task.status) || reply.raw.destroyed) return task;
    const leave = this.limit.enter(sourceOf(reply.request));
    return new Promise((resolve, reject) => {
      let seen = task;
      const call = new AbortController();
      const answer = (): void => {
        clearTimeout(timer);
        reply.raw.off('close', answer);
        stopWatching();
        leave();
        this.draining.release(call);
        endAccess();
        // A keep-alive connection would delay the end of the process.
        if (this.draining.started) reply.raw.shouldKeepAlive = false;
        if (call.signal.reason instanceof AppError) reject(call.signal.reason);
        else resolve(seen);
      };
      const timer = setTimeout(answer, waitMs);
      const stopWatching = this.watchers.watch(task.id, (look) => {
        seen = look ?? seen;
        if (look === undefined || look.status !== task.status || look.phase !== task.phase) answer();
      });
      reply.raw.once('close', answer);
      call.signal.addEventListener('abort', answer, { once: true });
      const endAccess = this.access.watch(reply.request, call);
      this.draining.track(call);
    });
  }

  /**
   * Sends the task at once, with its queue position if it has one, and then at every change, until the task ends, the
   * caller disconnects or the process stops. Throws AppError `concurrency_limit_exceeded` when the account has too many
   * followers.
   */
  stream(
    task: TaskSummary,
    position: QueuePosition | undefined,
    reply: FastifyReply,
    shown: Partial<Shown> = {},
  ): void {
    reply.request.taskId = task.id;
    if (reply.raw.destroyed) return;
    const viewOf: Shown['dataOf'] = async (look, itsPosition) => ({
      code: 200,
      data: await this.views.one(look, itsPosition),
    });
    const { dataOf = viewOf } = shown;
    const leave = isFinal(task.status) ? () => undefined : this.limit.enter(sourceOf(reply.request));
    const call = new AbortController();
    let stopWatching = (): void => undefined;
    let stopRest = (): void => undefined;
    let endAccess = (): void => undefined;
    const events = this.streams.begin(reply.request, () => {
      stopWatching();
      stopRest();
      leave();
      endAccess();
      this.draining.release(call);
    });
    let sent: TaskSummary | undefined;
    // Events are sent one after the other, in order; a view that fails is skipped.
    let saying = Promise.resolve();
    const say = (data: object | Promise<object>): void => {
      saying = saying
        .then(async () => {
          events.latest('task.updated', await data);
        })
        .catch(() => undefined);
    };
    const show = (look: TaskSummary | undefined): void => {
      if (look !== undefined && isDeleted(look)) {
        call.abort(taskDeleted(look.id));
        return;
      }
      if (look !== undefined && !isSame(look, sent)) {
        say(dataOf(look, look === task ? position : undefined));
        sent = look;
      }
      if (look !== undefined && !isFinal(look.status)) return;
      stopWatching();
      void saying.then(() => events.end());
    };
    stopRest = shown.begin?.(events) ?? stopRest;
    events.open(reply);
    show(task);
    if (!isFinal(task.status)) {
      stopWatching = this.watchers.watch(task.id, show);
      call.signal.addEventListener(
        'abort',
        () => {
          const reason: unknown = call.signal.reason;
          if (reason instanceof AppError) events.event('error', errorBody(reason, reply.request.id, reply.request.url));
          else reply.raw.shouldKeepAlive = false;
          events.end();
        },
        { once: true },
      );
      endAccess = this.access.watch(reply.request, call);
      this.draining.track(call);
    }
  }
}

function isSame(task: TaskSummary, other: TaskSummary | undefined): boolean {
  return task.status === other?.status && task.phase === other.phase && task.progress === other.progress;
}
