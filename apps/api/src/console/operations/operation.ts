import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database/prisma.service.js';
import { QueueLine } from '#queue/queue-line.js';
import { ServiceTimes } from '#queue/service-times.js';
import { providerFigures } from '#tasks/provider-figures.js';
import { finishedByMinute, queueFigures } from '#tasks/queue-figures.js';
import { workerView, type FinishedMinuteView, type ProviderFiguresView, type QueueView } from './operation-views.js';
import { unavailable } from './unavailable.js';

/** What providers and queue have done. */
@Injectable()
export class Operation {
  constructor(
    private readonly prisma: PrismaService,
    private readonly line: QueueLine,
    private readonly times: ServiceTimes,
  ) {}

  async figures(): Promise<ProviderFiguresView[]> {
    const rows = await providerFigures(this.prisma.pool);
    return rows.map(({ provider, calls, failed, medianMs }) => ({
      ...{ name: provider, calls, failed },
      median_ms: medianMs === null ? null : Math.round(medianMs),
    }));
  }

  /** Throws AppError `server_is_overloaded` when Redis does not answer. */
  async queue(): Promise<QueueView> {
    const [depths, workers, figures] = await Promise.all([
      this.line.depths().catch(unavailable),
      this.times.workers().catch(unavailable),
      queueFigures(this.prisma.pool),
    ]);
    const now = Date.now();
    return {
      ...{ waiting: depths.waiting, active: depths.active, delayed: depths.delayed },
      oldest_waiting_seconds: Math.round(figures.oldestWaitingSeconds),
      ...{ completed_last_minute: figures.completedLastMinute, failed_last_hour: figures.failedLastHour },
      workers: workers.map((worker) => workerView(worker, now)),
    };
  }

  async history(): Promise<FinishedMinuteView[]> {
    const minutes = await finishedByMinute(this.prisma.pool);
    return minutes.map(({ time, completed, failed }) => ({ time: time.toISOString(), completed, failed }));
  }
}
