import { Injectable } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import { QueueHealth } from '#queue/queue-health.js';
import { Logger } from '#telemetry/logger.js';
import { overloaded, tooManyTasks } from './refusals.js';
import { TaskSlots } from './task-slots.js';
import { TaskTurns, type Admitted, type Place } from './task-turns.js';
import { deadlineOf, TasksConfig } from '../row/tasks.config.js';
import type { TaskCommand } from '../row/task.js';

/** Lets tasks in: in Redis before their rows are written, and into the queue afterwards. */
@Injectable()
export class Admission {
  constructor(
    private readonly slots: TaskSlots,
    private readonly turns: TaskTurns,
    private readonly health: QueueHealth,
    private readonly config: TasksConfig,
    private readonly logger: Logger,
  ) {}

  /**
   * Never throws. Refusals: `server_is_overloaded` when Redis is down, `concurrency_limit_exceeded` when the key or its
   * account has as many tasks in flight as it may, `queue_full` when the task would wait past its deadline. They leave
   * nothing.
   */
  async take(command: TaskCommand): Promise<Admitted> {
    if (!this.health.accepting) return refuse(overloaded());
    const deadlineMs = deadlineOf(command, this.config);
    try {
      const admitted = await this.slots.with(command, (slot) => this.turns.take(command, deadlineMs, slot));
      return 'limit' in admitted ? refuse(tooManyTasks(admitted)) : admitted;
    } catch (error) {
      if (!(error instanceof AppError)) this.health.reportFailure();
      this.logger.warn('task.not_counted', { taskId: command.id, error });
      // A frozen Redis executes the commands sent to it when it resumes; this one comes after them.
      const slot = this.slots.of(command);
      if (slot !== undefined) this.turns.returnTurnAndSlot(command, slot);
      return refuse(error instanceof AppError ? error : overloaded(error));
    }
  }

  /** The task is not a new one after all. Never fails. */
  returnPlace(command: TaskCommand): void {
    this.slots.free(command);
    this.turns.returnTurn(command);
  }

  /** Never fails: the row stands, so its caller keeps waiting, and when this is false it is found by the sweeper. */
  async enqueue(command: TaskCommand, place: Place): Promise<boolean> {
    try {
      await this.turns.join(command, place);
      return true;
    } catch (error) {
      this.health.reportFailure();
      this.logger.warn('task.not_enqueued', { taskId: command.id, error });
      return false;
    }
  }
}

function refuse(refusal: AppError): Admitted {
  return { place: undefined, refusal };
}
