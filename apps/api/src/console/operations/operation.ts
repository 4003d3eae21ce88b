import { Injectable } from '@nestjs/common';
import { CatalogueSource } from '#catalogue/catalogue-source.js';
import type { Catalogue } from '#catalogue/catalogue.js';
import { AppError } from '#contract/app-error.js';
import { PrismaService } from '#database/prisma.service.js';
import { QueueLine } from '#queue/queue-line.js';
import { ServiceTimes } from '#queue/service-times.js';
import { GateState } from '#routing/gate-state.js';
import { drainProvider, listDrained, resumeProvider } from '#routing/provider-switches.js';
import { providerFigures } from '#tasks/provider-figures.js';
import { finishedByMinute, queueFigures } from '#tasks/queue-figures.js';
import {
  workerView,
  type FinishedMinuteView,
  type ProviderFiguresView,
  type ProviderStateView,
  type QueueView,
} from './operation-views.js';

/** The state of providers and queue. */
@Injectable()
export class Operation {
  constructor(
    private readonly prisma: PrismaService,
    private readonly source: CatalogueSource,
    private readonly line: QueueLine,
    private readonly gate: GateState,
    private readonly times: ServiceTimes,
  ) {}

  /**
   * Those of the catalogue, and those that are drained without being in it any more.
   * Throws AppError `server_is_overloaded` when Redis does not answer.
   */
  async providers(): Promise<Omit<ProviderStateView, 'trials'>[]> {
    const catalogue = this.source.current;
    const drained = new Map((await listDrained(this.prisma.pool)).map((row) => [row.provider, row]));
    const names = [...new Set([...catalogue.providers.keys(), ...drained.keys()])];
    const states = await this.gate.look(names).catch(unavailable);
    return names.map((name, index) => {
      const [entry, state, off] = [catalogue.providers.get(name), states[index], drained.get(name)];
      const keys = entry?.keys ?? [];
      return {
        ...{ name, type: entry?.type ?? null, models: modelsOf(catalogue, name) },
        unset_keys: keys.filter(({ secret }) => secret === '').map((key) => key.name),
        has_key: keys.length === 0 || keys.some(({ secret }) => secret !== ''),
        ...{ breaker: state?.breaker ?? 'closed', open_ms: state?.openMs ?? 0, calls: state?.calls ?? 0 },
        ...{ concurrency: entry?.limits.concurrency ?? null, starts: state?.starts ?? 0 },
        starts_per_minute: entry?.limits.startsPerMinute ?? null,
        resting_keys: [...(state?.cooling ?? [])].map(([key, ms]) => ({ key, rests_ms: ms })),
        drained: off === undefined ? null : { since: off.drainedAt.toISOString(), reason: off.reason },
      };
    });
  }

  async figures(): Promise<ProviderFiguresView[]> {
    const rows = await providerFigures(this.prisma.pool);
    return rows.map(({ provider, calls, failed, medianMs }) => ({
      ...{ name: provider, calls, failed },
      median_ms: medianMs === null ? null : Math.round(medianMs),
    }));
  }

  /** False when there is no such provider. */
  async drain(name: string, reason: string): Promise<boolean> {
    if (!this.source.current.providers.has(name)) return false;
    await drainProvider(this.prisma.pool, name, reason);
    return true;
  }

  /** Like `drain`; one that is on stays on, and one that is off may be in no catalogue any more. */
  async resume(name: string): Promise<boolean> {
    return (await resumeProvider(this.prisma.pool, name)) || this.source.current.providers.has(name);
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

function modelsOf({ models }: Catalogue, name: string): string[] {
  return [...models.values()]
    .filter(({ ranks }) => ranks.flat().some(({ provider }) => provider === name))
    .map((model) => model.name);
}

function unavailable(cause: unknown): never {
  throw new AppError('server_is_overloaded', 'Redis does not answer right now.', { retryAfter: 2, cause });
}
