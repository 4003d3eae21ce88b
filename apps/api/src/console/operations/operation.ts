import { Injectable } from '@nestjs/common';
import { QueueLine } from '#queue/queue-line.js';
import { ServiceTimes } from '#queue/service-times.js';
import { TaskFigures } from '#tasks/reading/task-figures.js';
import { workerView, type FinishedMinuteView, type QueueView } from './dto/operation-views.dto.js';
import { redisUnavailable } from './redis-unavailable.js';

/** Figures of the queue. */
@Injectable()
export class Operation {
  constructor(
    private readonly tasks: TaskFigures,
    private readonly line: QueueLine,
    private readonly times: ServiceTimes,
  ) {}

  /** Throws AppError `server_is_overloaded` when Redis does not answer. */
  async queue(): Promise<QueueView> {
    const [depths, workers, figures] = await Promise.all([
      this.line.depths().catch(redisUnavailable),
      this.times.workers().catch(redisUnavailable),
      this.tasks.queue(),
    ]);
    const now = Date.now();
    return {
      waiting: depths.waiting,
      active: depths.active,
      delayed: depths.delayed,
      // A task that was just claimed may still count as waiting in the database; this keeps the age consistent with the
      // count beside it.
      oldest_waiting_seconds: depths.waiting === 0 ? 0 : Math.round(figures.oldestWaitingSeconds),
      completed_last_minute: figures.completedLastMinute,
      failed_last_hour: figures.failedLastHour,
      workers: workers.map((worker) => workerView(worker, now)),
    };
  }

  async history(): Promise<FinishedMinuteView[]> {
    const minutes = await this.tasks.finishedByMinute();
    return minutes.map(({ time, completed, failed }) => ({ time: time.toISOString(), completed, failed }));
  }
}
