import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { isErrorCode } from '#contract/error-codes.js';
import { imageResponse } from '#contract/image-response.js';
import { ignoredParamsHeader } from '#contract/request-fields.js';
import { pollUrl, submittedResponse, taskAcceptance } from '#contract/task-acceptance.js';
import { isFinal } from '#tasks/row/task-status.js';
import type { Task, TaskSummary } from '#tasks/row/task.js';
import { TaskLinks } from '#answers/task-links.js';
import { ApiConfig, publicPathOf } from '../common/api.config.js';
import { TellCost } from '../common/tell-cost.js';
import type { Accepted } from './accept-image.js';
import { AwaitImage } from './await-image.js';
import { DeliveryMarks } from './delivery-marks.js';
import type { CallMode } from './image-query.js';
import { base64Body, BASE64_PLACE, OpenImages } from './open-images.js';
import { retryCount } from './request-mark.js';

/** Retry delay in ms for OpenAI SDKs while the image is still being generated. */
const SDK_RETRY_MS = '250';
/** Delay in seconds before the first poll of a new task. */
const FIRST_POLL_SECONDS = '5';

/** Responds to an accepted image request with the image, the task, or an error. */
@Injectable()
export class AnswerImage {
  private readonly publicPath: string;

  constructor(
    private readonly awaitImage: AwaitImage,
    private readonly openImages: OpenImages,
    private readonly links: TaskLinks,
    private readonly marks: DeliveryMarks,
    private readonly costs: TellCost,
    config: ApiConfig,
  ) {
    this.publicPath = publicPathOf(config);
  }

  /**
   * Throws the AppError of a failed task, or of one that still runs after the wait; and of one that waits for its approval,
   * unless the caller asked to wait (`Prefer: wait`).
   */
  async answer(request: FastifyRequest, reply: FastifyReply, accepted: Accepted, mode: CallMode): Promise<void> {
    const { task } = accepted;
    nameTask(request, reply, accepted);
    if (!mode.asynchronous && mode.waitSeconds === undefined) assertApproved(task);
    if (mode.asynchronous && mode.waitMs === 0) {
      this.marks.watch(reply, accepted, true);
      this.acceptTask(task, reply, mode);
      return;
    }
    const settled = await this.awaitImage.settled(accepted, reply, mode.waitMs, mode.asynchronous);
    if (reply.raw.destroyed) return;
    void reply.header('openai-processing-ms', String(Math.round(reply.elapsedTime)));
    if (settled === undefined && !mode.asynchronous) assertApproved(task);
    if (settled === undefined && !mode.asynchronous) throw stillRunningError(request, reply, task);
    const send = settled === undefined ? undefined : await this.outcome(settled, accepted, reply, mode);
    this.marks.watch(reply, accepted, send === undefined);
    if (send === undefined) this.acceptTask(task, reply, mode);
    else send();
  }

  private acceptTask(task: Task, reply: FastifyReply, mode: CallMode): void {
    if (mode.preferred) void reply.header('preference-applied', 'respond-async');
    void reply
      .code(202)
      .header('location', pollUrl(task.id, this.publicPath))
      .header('retry-after', FIRST_POLL_SECONDS)
      .header('cache-control', 'no-store')
      .send(taskAcceptance(task, this.links.expiryOf(task), this.publicPath));
  }

  /** The response for keys with submit mode `apimart`: the task id at once, with status 200. */
  answerSubmitted(request: FastifyRequest, reply: FastifyReply, accepted: Accepted): void {
    nameTask(request, reply, accepted);
    this.marks.watch(reply, accepted, true);
    void reply.header('cache-control', 'no-store').code(200).send(submittedResponse(accepted.task.id));
  }

  /**
   * Prepares the response to a finished task, and throws any error of that at once. The returned function sends the
   * images or throws the task's error.
   */
  private async outcome(
    task: TaskSummary,
    accepted: Accepted,
    reply: FastifyReply,
    mode: CallMode,
  ): Promise<() => void> {
    const { format } = accepted;
    const images = task.images ?? [];
    const [first] = images;
    if (task.status !== 'completed' || first === undefined) {
      return () => {
        throw failureOf(task);
      };
    }
    if (mode.waitSeconds !== undefined) void reply.header('preference-applied', `wait=${mode.waitSeconds}`);
    const data = images.map((image) => ({
      ...(format === 'b64_json' ? {} : { url: this.links.linkTo(task, image).url ?? '' }),
      ...(format === 'url' ? {} : { b64_json: BASE64_PLACE }),
    }));
    const answer = imageResponse(task, first, data);
    if (format === 'url') {
      await this.costs.tell(task, reply);
      return () => void reply.code(200).send(answer);
    }
    const opened = await this.openImages.open(task, accepted, reply);
    await this.costs.tell(task, reply);
    const body = base64Body(answer, opened, reply.raw);
    return () => void reply.code(200).type('application/json').header('content-length', body.length).send(body.stream);
  }
}

/**
 * An SDK that counts its retries will retry for the image. Any other client should poll: repeating the call gets the
 * same task within ATTACH_WINDOW_MS, and creates a second one after that.
 */
export function stillRunningError(request: FastifyRequest, reply: FastifyReply, task: Task): AppError {
  const retries = retryCount(request.headers) !== undefined;
  void reply.header('x-should-retry', String(retries));
  if (retries) void reply.header('retry-after-ms', SDK_RETRY_MS);
  return stillRunning(task.id);
}

/** Puts the call's task, and the names of ignored fields, in the log and headers. */
export function nameTask(request: FastifyRequest, reply: FastifyReply, accepted: Accepted): void {
  const { task, attached, identity, ignored } = accepted;
  request.taskId = task.id;
  request.attached = attached;
  void reply.header('x-task-id', task.id);
  if (attached && identity.kind === 'keyed' && isFinal(task.status)) void reply.header('idempotency-replayed', 'true');
  const ignoredParams = ignoredParamsHeader(ignored);
  if (ignoredParams !== undefined) void reply.header('x-ignored-params', ignoredParams);
}

/** Throws AppError `approval_required` for a task that waited for its approval when the request got it. */
export function assertApproved({ id, phase }: Task): void {
  if (phase !== 'held') return;
  const text = `This request may cost more than its API key or account may spend without an approval. Nothing is generated until an owner or admin approves it. Poll ${pollUrl(id)}, or send the same request again later.`;
  throw new AppError('approval_required', text, { taskId: id });
}

/** The error for a task that has not ended. */
export function stillRunning(taskId: string): AppError {
  return new AppError('still_running', `The image is not ready yet. Poll ${pollUrl(taskId)} to get it.`, { taskId });
}

/** The error of a task that ended without an image. */
export function failureOf(task: TaskSummary): AppError {
  if (task.status === 'cancelled') {
    return new AppError('task_cancelled', 'The task was cancelled.', { taskId: task.id });
  }
  const {
    code,
    message,
    param,
    moderation_details: moderation,
  } = task.error ?? {
    code: null,
    message: 'The image could not be generated.',
    param: null,
    moderation_details: undefined,
  };
  return new AppError(isErrorCode(code) ? code : 'internal_error', message, {
    taskId: task.id,
    ...(param === null ? {} : { param }),
    moderation,
  });
}
