import { Injectable } from '@nestjs/common';
import type { ImageProvider } from '#providers/image-provider.js';
import { serverLabels, type ProviderEntry } from '#providers/provider-entry.js';
import { ProviderError } from '#providers/provider-error.js';
import { kindOf, serviceKind, tierOf } from '#tasks/row/service-kind.js';
import type { ClaimedTask } from '#tasks/states/task-transitions.js';
import { Metrics } from '#telemetry/metrics.js';
import { ServiceReport } from './service-report.js';

/** Weight of the latest task in the moving average. */
const LATEST = 0.2;

/** Measures tasks in a worker. Times are the database's, extended by the local clock. */
@Injectable()
export class TaskMeter {
  /** Moving average of the service time per kind of task, in ms: the part of an estimate that follows the wait. */
  private readonly usualMs = new Map<string, number>();

  constructor(
    private readonly metrics: Metrics,
    private readonly report: ServiceReport,
  ) {}

  claimed({ task, attempt }: ClaimedTask): void {
    if (attempt > 1 || task.underway === null) return;
    const { model, estimatedMs, underway } = task;
    this.metrics.taskWait.observe({ model, tier: tierOf(task.options) }, underway.ageMs / 1_000);
    const usualMs = this.usualMs.get(serviceKind(kindOf(task)));
    if (estimatedMs === null || usualMs === undefined) return;
    const error = (underway.ageMs - Math.max(0, estimatedMs - usualMs)) / 1_000;
    this.metrics.startError.observe({ model, direction: error > 0 ? 'late' : 'early' }, Math.abs(error));
  }

  completed({ task, claimedAt }: ClaimedTask, provider: string, images: number): void {
    const { model, underway, estimatedMs } = task;
    this.metrics.images.inc({ model, provider }, images);
    if (underway === null) return;
    const tier = tierOf(task.options);
    const sinceClaim = performance.now() - claimedAt;
    const serviceMs = (underway.runningMs ?? 0) + sinceClaim;
    this.metrics.taskService.observe({ model, tier, provider }, serviceMs / 1_000);
    const kind = serviceKind(kindOf(task));
    this.usualMs.set(kind, (this.usualMs.get(kind) ?? serviceMs) * (1 - LATEST) + serviceMs * LATEST);
    this.report.add({ kind: serviceKind(kindOf(task), provider), ms: serviceMs });
    if (estimatedMs === null) return;
    this.metrics.estimateRatio.observe({ model }, (underway.ageMs + sinceClaim) / Math.max(1, estimatedMs));
  }

  /** Counts the outcome of a provider call and returns its result. Of a pending call, only a problem counts. */
  async call(
    server: ProviderEntry,
    call: ReturnType<ImageProvider['generate']>,
    signal: AbortSignal,
  ): ReturnType<ImageProvider['generate']> {
    const labels = serverLabels(server);
    try {
      const result = await call;
      const outcome = 'pending' in result ? result.pending.problem?.code : 'ok';
      if (outcome !== undefined) this.metrics.providerStarts.inc({ ...labels, outcome });
      return result;
    } catch (error) {
      const code = error instanceof ProviderError ? error.code : 'internal_error';
      this.metrics.providerStarts.inc({ ...labels, outcome: signal.aborted ? 'aborted' : code });
      throw error;
    }
  }
}
