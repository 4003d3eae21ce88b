import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { completedEvent, partialEvent } from '#contract/image-response.js';
import { TaskPartialsListener } from '#tasks/states/task-partials.js';
import type { Task, TaskSummary } from '#tasks/row/task.js';
import { errorBody } from '../common/error-reply.js';
import type { EventStream } from '../common/events/event-stream.js';
import { EventStreams } from '../common/events/event-streams.js';
import type { Accepted } from './accept-image.js';
import { assertApproved, failureOf, nameTask, stillRunning } from './answer-image.js';
import { AwaitImage } from './await-image.js';
import { DeliveryMarks } from './delivery-marks.js';
import { base64Body, BASE64_PLACE, OpenImages, type OpenedImage } from './open-images.js';

/** By how long a task may end after its deadline when nothing else works: a few sweeps. */
const DEADLINE_SLACK_MS = 60_000;

/** Responds to an accepted image request with events: partial images, then each image or an error. */
@Injectable()
export class StreamImage {
  constructor(
    private readonly awaitImage: AwaitImage,
    private readonly partials: TaskPartialsListener,
    private readonly openImages: OpenImages,
    private readonly marks: DeliveryMarks,
    private readonly streams: EventStreams,
  ) {}

  /**
   * Returns once the last event is written. A failure is sent as an event, because the status is already sent, and also
   * thrown for the log. Throws AppError before the first one for a task that waits for its approval. Only an image that breaks off midway closes the connection.
   */
  async stream(request: FastifyRequest, reply: FastifyReply, accepted: Accepted): Promise<void> {
    nameTask(request, reply, accepted);
    assertApproved(accepted.task);
    const events = this.streams.begin(request);
    const stopPartials = this.partialsOf(accepted.task, events);
    try {
      events.open(reply);
      const settled = await this.awaitImage.settled(accepted, reply, maxWaitFor(accepted.task));
      if (reply.raw.destroyed) return;
      if (settled === undefined) throw stillRunning(accepted.task.id);
      const stored = await this.openImages.open(settled, accepted, reply);
      this.marks.watch(reply, accepted);
      await this.finish(settled, stored, events);
    } catch (error) {
      if (error instanceof AppError) events.event('error', errorBody(error, request.id));
      throw error;
    } finally {
      stopPartials();
      events.end();
    }
  }

  /** A provider that restarts sends partial images again; the caller gets each of them once. */
  private partialsOf(task: Task, events: EventStream): () => void {
    const wanted = task.options.partialImages ?? 0;
    if (wanted === 0) return () => undefined;
    let next = 0;
    return this.partials.listen(task.id, (partial) => {
      if (partial.index < next || partial.index >= wanted) return;
      next = partial.index + 1;
      const data = partialEvent(task, partial);
      events.offer(data.type, data);
    });
  }

  private async finish(task: TaskSummary, stored: readonly OpenedImage[], events: EventStream): Promise<void> {
    try {
      const images = task.images ?? [];
      if (task.status !== 'completed' || images.length === 0) throw failureOf(task);
      for (const index of images.keys()) {
        const data = completedEvent(task, images, index, BASE64_PLACE);
        await events.stream(data.type, base64Body(data, stored.slice(index, index + 1), events).stream);
      }
    } finally {
      for (const image of stored) image.close();
    }
  }
}

/** How long to wait for a task to end, in ms. Both times are the database's, so no local clock is involved. */
export function maxWaitFor(task: Task): number {
  return task.deadlineAt.getTime() - task.createdAt.getTime() + DEADLINE_SLACK_MS;
}
