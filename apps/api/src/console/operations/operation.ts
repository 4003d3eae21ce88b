import { Injectable } from '@nestjs/common';
import { WaitingTasks } from '#answers/waiting-tasks.js';
import { ServiceTimes } from '#queue/service-times.js';
import { TaskFigures } from '#tasks/reading/task-figures.js';
import { latencyView, type LatencyView } from '../dto/latency-view.dto.js';
import { workerView, type FinishedMinuteView, type QueueView } from './dto/operation-views.dto.js';
import { redisUnavailable } from './redis-unavailable.js';

/** Figures of the queue. */
@Injectable()
export class Operation {
  constructor(
    private readonly tasks: TaskFigures,
    private readonly waiting: WaitingTasks,
    private readonly times: ServiceTimes,
  ) {}

  /** Throws AppError `server_is_overloaded` when Redis does not answer. */
  async queue(): Promise<QueueView> {
    const [groups, workers, figures] = await Promise.all([
      this.waiting.groups(),
      this.times.workers().catch(redisUnavailable),
      this.tasks.queue(),
    ]);
    const now = Date.now();
    return {
      waiting: groups.reduce((sum, { count }) => sum + count, 0),
      running: figures.running,
      oldest_waiting_seconds: Math.max(0, ...groups.map(({ oldest_seconds: age }) => age)),
      waiting_for: groups,
      completed_last_minute: figures.completedLastMinute,
      failed_last_hour: figures.failedLastHour,
      workers: workers.map((worker) => workerView(worker, now)),
    };
  }

  async latency(): Promise<LatencyView> {
    return latencyView(await this.tasks.latency('installation'));
  }

  async history(): Promise<FinishedMinuteView[]> {
    const minutes = await this.tasks.finishedByMinute();
    return minutes.map(({ time, completed, failed }) => ({ time: time.toISOString(), completed, failed }));
  }
}
