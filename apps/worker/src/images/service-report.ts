import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import {
  Injectable,
  Optional,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common';
import { VERSION } from '#config/package.js';
import { ServiceTimes, WORKER_TTL_MS, type ServiceSample, type WorkerSlots } from '#queue/service-times.js';
import { TaskFigures } from '#tasks/reading/task-figures.js';
import { Logger } from '#telemetry/logger.js';
import { Metrics } from '#telemetry/metrics.js';
import { WorkerConfig } from '../worker.config.js';
import { Leases } from './leases.js';

/** How often a worker reports its slots and measurements. */
const REPORT_EVERY_MS = 2_000;
/** Samples kept during a Redis outage. */
const MAX_SAMPLES = 500;

/** Reports service times and this worker's slots to all processes, with one command for many tasks. */
@Injectable()
export class ServiceReport implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy {
  private samples: ServiceSample[] = [];
  private timer: NodeJS.Timeout | undefined;
  private reporting: Promise<unknown> = Promise.resolve();
  private readonly startedAt = new Date().toISOString();

  constructor(
    private readonly times: ServiceTimes,
    private readonly figures: TaskFigures,
    private readonly config: WorkerConfig,
    private readonly leases: Leases,
    private readonly metrics: Metrics,
    private readonly logger: Logger,
    /** Names this worker; set by tests to tell workers apart. */
    @Optional() private readonly worker: string = randomUUID(),
  ) {}

  onModuleInit(): void {
    this.metrics.gauge(
      'worker_slots',
      'Maximum number of tasks this worker processes at once.',
      () => this.config.concurrency,
    );
    this.metrics.gauge('worker_tasks', 'Tasks this worker is processing.', () => this.leases.size);
  }

  onApplicationBootstrap(): void {
    this.start();
  }

  /** Runs before the worker finishes its running tasks, so that estimates no longer count on it. */
  async onModuleDestroy(): Promise<void> {
    await this.stop();
  }

  /** Reports now, then at every interval until `stop`. */
  start(everyMs = REPORT_EVERY_MS): void {
    if (everyMs >= WORKER_TTL_MS) throw new Error('a worker would be forgotten between two reports');
    const report = (): void => {
      this.reporting = Promise.all([this.reporting, this.report()]);
    };
    this.timer ??= setInterval(report, everyMs).unref();
    report();
  }

  /** Adds a completed task to the next report. */
  add(sample: ServiceSample): void {
    this.samples.push(sample);
    if (this.samples.length > MAX_SAMPLES) this.samples.shift();
  }

  /** Reports that this worker takes no more tasks. Never fails. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    // A report that ends later would list this worker's slots again.
    await this.reporting;
    await this.send(0);
  }

  /** Never fails; samples that could not be sent go with the next report. */
  async report(): Promise<void> {
    const known = await this.send(this.config.concurrency);
    if (known === false) await this.restore();
  }

  private async send(slots: number): Promise<boolean | undefined> {
    const samples = this.samples;
    this.samples = [];
    try {
      return await this.times.report(this.told(slots), samples);
    } catch (error) {
      this.samples = [...samples, ...this.samples].slice(-MAX_SAMPLES);
      this.logger.debug('service_times.not_reported', { error });
      return undefined;
    }
  }

  /** Redis has no measurements, or lost them: reloads them from the task rows. */
  private async restore(): Promise<void> {
    try {
      const samples = await this.figures.serviceTimes();
      if (samples.length > 0) await this.times.restore(this.told(this.config.concurrency), samples);
    } catch (error) {
      this.logger.debug('service_times.not_restored', { error });
    }
  }

  private told(slots: number): WorkerSlots {
    const { worker, startedAt } = this;
    const running = this.leases.size;
    return { worker, slots, facts: { host: hostname(), pid: process.pid, version: VERSION, startedAt, running } };
  }
}
