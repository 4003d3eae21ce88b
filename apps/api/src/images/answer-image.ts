import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { isErrorCode } from '#contract/error-codes.js';
import { imageResponse } from '#contract/image-response.js';
import type { ResponseFormat } from '#contract/image-request.js';
import { ignoredParamsHeader } from '#contract/request-fields.js';
import { pollUrl, submittedResponse, taskAcceptance } from '#contract/task-acceptance.js';
import type { ObjectStore } from '#storage/object-store.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import { isFinal } from '#tasks/task-status.js';
import type { Task } from '#tasks/task.js';
import { Draining } from '../http/draining.js';
import { TaskLinks } from '../tasks/task-links.js';
import type { Accepted } from './accept-image.js';
import { base64Body, BASE64_PLACE } from './base64-body.js';
import type { CallMode } from './call-mode.js';
import { DeliveryMarks } from './delivery-marks.js';
import { retryCount } from './request-mark.js';
import { WaitForTask } from './wait-for-task.js';

/** Milliseconds after which an SDK of OpenAI should ask again for a picture that still runs. */
const SDK_RETRY_MS = '250';
/** Seconds until the first poll of a new task is worth while. */
const FIRST_POLL_SECONDS = '5';

/** Answers an accepted image request: with the picture, with the task, or with what went wrong. */
@Injectable()
export class AnswerImage {
  constructor(
    @Inject(WaitForTask) private readonly wait: WaitForTask,
    @Inject(OBJECT_STORE) private readonly store: ObjectStore,
    @Inject(TaskLinks) private readonly links: TaskLinks,
    @Inject(Draining) private readonly draining: Draining,
    @Inject(DeliveryMarks) private readonly marks: DeliveryMarks,
  ) {}

  /** Throws the AppError of a task that failed or still runs when its time is over. */
  async answer(request: FastifyRequest, reply: FastifyReply, accepted: Accepted, mode: CallMode): Promise<void> {
    const { task } = accepted;
    this.name(request, reply, accepted);
    if (mode.asynchronous && mode.waitMs === 0) {
      this.watch(request, reply, accepted);
      acceptTask(task, reply, mode);
      return;
    }
    const settled = await this.settled(accepted, reply, mode.waitMs);
    if (reply.raw.destroyed) return;
    void reply.header('openai-processing-ms', String(Math.round(reply.elapsedTime)));
    if (settled === undefined && !mode.asynchronous) throw stillRunning(request, reply, task);
    const send = settled === undefined ? undefined : await this.outcome(settled, accepted.format, reply, mode);
    this.watch(request, reply, accepted);
    if (send === undefined) acceptTask(task, reply, mode);
    else send();
  }

  /** What a key of submit mode `apimart` gets: the task id at once, with status 200. */
  answerSubmitted(request: FastifyRequest, reply: FastifyReply, accepted: Accepted): void {
    this.name(request, reply, accepted);
    this.watch(request, reply, accepted);
    void reply.header('cache-control', 'no-store').code(200).send(submittedResponse(accepted.task.id));
  }

  private name(request: FastifyRequest, reply: FastifyReply, { task, attached, mark, ignored }: Accepted): void {
    request.taskId = task.id;
    request.attached = attached;
    void reply.header('x-task-id', task.id);
    if (attached && mark?.kind === 'key' && isFinal(task.status)) void reply.header('idempotency-replayed', 'true');
    const ignoredParams = ignoredParamsHeader(ignored);
    if (ignoredParams !== undefined) void reply.header('x-ignored-params', ignoredParams);
  }

  /** Only who counts its tries can come back for an answer that did not arrive; a key finds its task in any case. */
  private watch(request: FastifyRequest, reply: FastifyReply, { task, mark }: Accepted): void {
    if (mark?.kind === 'attempt') this.marks.watch(request, reply, task.id);
  }

  /** Ends early when the caller is gone or the process stops; the task goes on regardless. */
  private async settled({ task, attached }: Accepted, reply: FastifyReply, waitMs: number): Promise<Task | undefined> {
    const call = new AbortController();
    const leave = (): void => {
      call.abort();
    };
    reply.raw.once('close', leave);
    this.draining.hold(call);
    try {
      return await this.wait.settled(task, waitMs, call.signal, attached);
    } finally {
      reply.raw.off('close', leave);
      // A kept connection would hold up the end of the process, and be cut when its caller uses it next.
      if (this.draining.started) reply.raw.shouldKeepAlive = false;
      this.draining.letGo(call);
    }
  }

  /** Sends the picture or throws the task's error, when it is called; what can go wrong before is thrown at once. */
  private async outcome(task: Task, format: ResponseFormat, reply: FastifyReply, mode: CallMode): Promise<() => void> {
    const image = task.images?.[0];
    if (task.status !== 'completed' || image === undefined) {
      return () => {
        throw failureOf(task);
      };
    }
    if (mode.waitSeconds !== undefined) void reply.header('preference-applied', `wait=${mode.waitSeconds}`);
    if (format === 'url') {
      const answer = imageResponse(task, image, { url: this.links.linkTo(task, image).url ?? '' });
      return () => void reply.code(200).send(answer);
    }
    const stored = await this.store.open(image.key).catch((cause: unknown) => {
      throw new AppError('storage_error', 'The picture cannot be read right now; poll the task for a link.', {
        taskId: task.id,
        cause,
      });
    });
    const body = base64Body(imageResponse(task, image, { b64_json: BASE64_PLACE }), stored);
    return () => void reply.code(200).type('application/json').header('content-length', body.length).send(body.stream);
  }
}

function acceptTask(task: Task, reply: FastifyReply, mode: CallMode): void {
  if (mode.preferred) void reply.header('preference-applied', 'respond-async');
  void reply
    .code(202)
    .header('location', pollUrl(task.id))
    .header('retry-after', FIRST_POLL_SECONDS)
    .header('cache-control', 'no-store')
    .send(taskAcceptance(task));
}

/** An SDK that counts its retries will be back for the picture; anyone else polls, for a second call is a second task. */
function stillRunning(request: FastifyRequest, reply: FastifyReply, task: Task): AppError {
  const retries = retryCount(request.headers) !== undefined;
  void reply.header('x-should-retry', String(retries));
  if (retries) void reply.header('retry-after-ms', SDK_RETRY_MS);
  return new AppError('still_running', `The picture is not ready yet. Poll ${pollUrl(task.id)} for it.`, {
    taskId: task.id,
  });
}

/** The error of a task that ended without a picture. */
function failureOf(task: Task): AppError {
  if (task.status === 'cancelled') {
    return new AppError('task_cancelled', 'The task was cancelled.', { taskId: task.id });
  }
  const { code, message, param } = task.error ?? { code: null, message: 'The picture could not be made.', param: null };
  return new AppError(isErrorCode(code) ? code : 'internal_error', message, {
    taskId: task.id,
    ...(param === null ? {} : { param }),
  });
}
