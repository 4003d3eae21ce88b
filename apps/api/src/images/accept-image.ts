import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { OpenCall } from '#tasks/intake/open-call.js';
import { SubmitTask } from '#tasks/intake/submit-task.js';
import type { Intake } from '#tasks/intake/task-intake.js';
import { CheckRequest, type CheckedRequest, type RequestTraits } from './check-request.js';

/** An accepted request: a new task, or the one that it repeats. */
export interface Accepted extends Intake, RequestTraits {}

/** Creates tasks from image requests. */
@Injectable()
export class AcceptImage {
  constructor(
    private readonly tasks: SubmitTask,
    private readonly check: CheckRequest,
  ) {}

  /**
   * Uploads end when the caller disconnects, and nothing is accepted then. Throws AppError or CallerGone, and then
   * leaves nothing behind.
   */
  async generation(request: FastifyRequest, asynchronous: boolean, call: OpenCall): Promise<Accepted> {
    return this.submit(await this.check.generation(request, asynchronous, call.gone), call);
  }

  /** Like `generation`, for JSON and multipart edits. */
  async edit(request: FastifyRequest, asynchronous: boolean, call: OpenCall): Promise<Accepted> {
    return this.submit(await this.check.edit(request, asynchronous, call.gone), call);
  }

  private async submit({ command, upload, ...traits }: CheckedRequest, call: OpenCall): Promise<Accepted> {
    try {
      const intake = await this.tasks.submit(command, traits.mark, call);
      // The repeated task already has these images.
      if (intake.attached) await upload.discard();
      return { ...traits, ...intake };
    } catch (error) {
      // If the task may have been accepted, it needs the images; if it was not, retention collects them.
      if (!this.tasks.mayBeAccepted(upload.taskId)) await upload.discard();
      throw error;
    }
  }
}
