import { Injectable } from '@nestjs/common';
import { ProviderError } from '#providers/provider-error.js';
import { kindOf, serviceKind, tierOf } from '#tasks/service-kind.js';
import type { ClaimedTask } from '#tasks/task-transitions.js';
import { Metrics } from '#telemetry/metrics.js';
import { ServiceReport } from './service-report.js';

/** Measures tasks on their way through a worker; times are the database's, carried on by our own clock. */
@Injectable()
export class TaskMeter {
  constructor(
    private readonly metrics: Metrics,
    private readonly report: ServiceReport,
  ) {}

  claimed({ task, attempt }: ClaimedTask): void {
    if (attempt > 1 || task.underway === null) return;
    this.metrics.taskWait.observe({ model: task.model, tier: tierOf(task.options) }, task.underway.ageMs / 1_000);
  }

  completed({ task, claimedAt }: ClaimedTask, provider: string, images: number): void {
    const { model, underway, estimatedMs } = task;
    this.metrics.images.inc({ model, provider }, images);
    if (underway === null) return;
    const [tier, sinceClaim] = [tierOf(task.options), performance.now() - claimedAt];
    const serviceMs = (underway.runningMs ?? 0) + sinceClaim;
    this.metrics.taskService.observe({ model, tier, provider }, serviceMs / 1_000);
    this.report.add({ kind: serviceKind(kindOf(task), provider), ms: serviceMs });
    if (estimatedMs === null) return;
    this.metrics.estimateRatio.observe({ model }, (underway.ageMs + sinceClaim) / Math.max(1, estimatedMs));
  }

  /** Counts how a call to a provider ends, and passes its outcome on. One that is still at work has not ended. */
  async call<T extends object>(provider: string, call: Promise<T>, signal: AbortSignal): Promise<T> {
    try {
      const result = await call;
      if (!('pending' in result)) this.metrics.providerStarts.inc({ provider, outcome: 'ok' });
      return result;
    } catch (error) {
      const code = error instanceof ProviderError ? error.code : 'internal_error';
      this.metrics.providerStarts.inc({ provider, outcome: signal.aborted ? 'aborted' : code });
      throw error;
    }
  }
}
