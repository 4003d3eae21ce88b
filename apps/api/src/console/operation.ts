import { Inject, Injectable } from '@nestjs/common';
import { CatalogueSource } from '#catalogue/catalogue-source.js';
import { AppError } from '#contract/app-error.js';
import { Database } from '#database/database.js';
import { QueueLine } from '#queue/queue-line.js';
import { GateState } from '#routing/gate-state.js';
import { drainProvider, listDrained, resumeProvider } from '#routing/provider-switches.js';
import { queueFigures } from '#tasks/queue-figures.js';
import type { ProviderStateView, QueueView } from './operation-views.js';

/** The state of providers and queue. */
@Injectable()
export class Operation {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(CatalogueSource) private readonly source: CatalogueSource,
    @Inject(QueueLine) private readonly line: QueueLine,
    @Inject(GateState) private readonly gate: GateState,
  ) {}

  /** Throws AppError `server_is_overloaded` when Redis does not answer. */
  async providers(): Promise<ProviderStateView[]> {
    const { providers, models } = this.source.current;
    const entries = [...providers.values()];
    const drained = new Map((await listDrained(this.database.pool)).map((row) => [row.provider, row]));
    const states = await this.gate.look(entries.map(({ name }) => name)).catch(unavailable);
    return entries.map(({ name, type, limits }, index) => {
      const state = states[index];
      const off = drained.get(name);
      const isServed = ({ ranks }: { ranks: readonly (readonly { provider: string }[])[] }): boolean =>
        ranks.flat().some(({ provider }) => provider === name);
      return {
        ...{ name, type, models: [...models.values()].filter(isServed).map((model) => model.name) },
        ...{ breaker: state?.breaker ?? 'closed', open_ms: state?.openMs ?? 0, calls: state?.calls ?? 0 },
        ...{ concurrency: limits.concurrency ?? null, starts: state?.starts ?? 0 },
        starts_per_minute: limits.startsPerMinute ?? null,
        resting_keys: [...(state?.cooling ?? [])].map(([key, ms]) => ({ key, rests_ms: ms })),
        drained: off === undefined ? null : { since: off.drainedAt.toISOString(), reason: off.reason },
      };
    });
  }

  /** False when there is no such provider. */
  async drain(name: string, reason: string): Promise<boolean> {
    if (!this.source.current.providers.has(name)) return false;
    await drainProvider(this.database.pool, name, reason);
    return true;
  }

  /** Like `drain`; one that is on stays on. */
  async resume(name: string): Promise<boolean> {
    if (!this.source.current.providers.has(name)) return false;
    await resumeProvider(this.database.pool, name);
    return true;
  }

  async queue(): Promise<QueueView> {
    const [depths, figures] = await Promise.all([
      this.line.depths().catch(unavailable),
      queueFigures(this.database.pool),
    ]);
    return {
      ...{ waiting: depths.waiting, active: depths.active, delayed: depths.delayed },
      oldest_waiting_seconds: Math.round(figures.oldestWaitingSeconds),
      ...{ completed_last_minute: figures.completedLastMinute, failed_last_hour: figures.failedLastHour },
    };
  }
}

function unavailable(cause: unknown): never {
  throw new AppError('server_is_overloaded', 'Redis does not answer right now.', { retryAfter: 2, cause });
}
