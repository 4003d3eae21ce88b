import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { SubmitTask } from '#tasks/submit-task.js';
import type { Intake } from '#tasks/task-intake.js';
import { CheckImage, type CheckedImage, type RequestSigns } from './check-image.js';

/** A request that has become a task, or repeats one that has. */
export interface Accepted extends Intake, RequestSigns {}

/** Turns an image request into a task. */
@Injectable()
export class AcceptImage {
  constructor(
    private readonly tasks: SubmitTask,
    private readonly check: CheckImage,
  ) {}

  /** `signal` ends uploads whose caller is gone. Throws AppError; then nothing is left behind. */
  async generation(request: FastifyRequest, asynchronous: boolean, signal: AbortSignal): Promise<Accepted> {
    return this.submit(await this.check.generation(request, asynchronous, signal));
  }

  /** Like `generation`, for JSON and multipart edits. */
  async edit(request: FastifyRequest, asynchronous: boolean, signal: AbortSignal): Promise<Accepted> {
    return this.submit(await this.check.edit(request, asynchronous, signal));
  }

  private async submit({ command, identity, upload, ...signs }: CheckedImage): Promise<Accepted> {
    try {
      const intake = await this.tasks.submit(command, identity);
      // What a repetition has uploaded again is not needed: its task has it.
      if (intake.attached) await upload.discard();
      return { ...signs, ...intake };
    } catch (error) {
      // A repeat may yet get that task, which needs them; where none comes, retention collects them.
      if (!this.tasks.mayBeAccepted(upload.taskId)) await upload.discard();
      throw error;
    }
  }
}
