import { Injectable } from '@nestjs/common';
import { QueueLine } from '#queue/queue-line.js';
import { ServiceTimes } from '#queue/service-times.js';
import { lineMs } from '../admission/estimate.js';

/** How long tasks of all accounts wait to be started. */
@Injectable()
export class QueueWait {
  constructor(
    private readonly line: QueueLine,
    private readonly times: ServiceTimes,
  ) {}

  /** Seconds until a task queued now would start, from two records that Redis keeps anyway. Rejects without Redis. */
  async predictedSeconds(): Promise<number> {
    const [{ waiting, active }, record] = await Promise.all([this.line.depths(), this.times.read()]);
    return lineMs(record, waiting + active) / 1_000;
  }
}
