import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { TaskPartialsListener } from '#tasks/states/task-partials.js';
import type { TaskSummary } from '#tasks/row/task.js';
import type { EventStream } from '../../common/events/event-stream.js';
import { FollowTask } from '../../tasks/follow-task.js';
import type { PartialPictureView } from './dto/task-views.dto.js';

/** The event stream of a task with its partial images. */
@Injectable()
export class StreamTask {
  constructor(
    private readonly tasks: FollowTask,
    private readonly partials: TaskPartialsListener,
  ) {}

  stream(task: TaskSummary, reply: FastifyReply, dataOf: () => Promise<object>): void {
    this.tasks.stream(task, undefined, reply, { dataOf, begin: (events) => this.sendPartials(task, events) });
  }

  private sendPartials({ id, options }: TaskSummary, events: EventStream): () => void {
    if (options.partialImages === undefined) return () => undefined;
    return this.partials.listen(id, ({ index, format, base64 }) => {
      const image: PartialPictureView = { index, b64_json: base64, output_format: format };
      events.offer('partial', image);
    });
  }
}
