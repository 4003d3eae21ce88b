import { Injectable } from '@nestjs/common';
import { QueueLine } from '#queue/queue-line.js';
import { ServiceTimes } from '#queue/service-times.js';
import { lineMs } from './estimate.js';
import { TaskFigures } from './task-figures.js';

/** How long tasks wait to be started, whosever they are. */
@Injectable()
export class QueueWait {
  constructor(
    private readonly line: QueueLine,
    private readonly times: ServiceTimes,
    private readonly figures: TaskFigures,
  ) {}

  /** Until a task behind everything that waits now would start, in s: from two records that Redis keeps anyway. Rejects without Redis. */
  async predictedSeconds(): Promise<number> {
    const [{ waiting, active }, record] = await Promise.all([this.line.depths(), this.times.read()]);
    return lineMs(record, waiting + active) / 1_000;
  }

  /** Since the oldest task that waits was accepted, in s; 0 when none does. */
  async measuredSeconds(): Promise<number> {
    return await this.figures.oldestWaitingSeconds();
  }
}
