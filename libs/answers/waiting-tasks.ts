import { Injectable } from '@nestjs/common';
import { modelOf } from '#catalog/catalog.js';
import { CatalogSource } from '#catalog/catalog-source.js';
import { AppError } from '#contract/app-error.js';
import { waitingFor, type WaitingGroup, type WaitingReason } from '#contract/waiting.js';
import { QueueHealth } from '#queue/queue-health.js';
import { ServiceTimes } from '#queue/service-times.js';
import { ProviderWaits, type WaitingPlan } from '#routing/provider-waits.js';
import { routePlan, type RouteNeeds } from '#routing/route-plan.js';
import { TaskFigures } from '#tasks/reading/task-figures.js';

/** A request whose images nobody generates yet. */
export interface WaitingRequest extends RouteNeeds {
  readonly model: string;
  /** When it may be tried again after a failed call; null: none failed. */
  readonly retryAt: Date | null;
}

/** Why tasks wait: one answer for every page and alert, whichever process gives it. */
@Injectable()
export class WaitingTasks {
  constructor(
    private readonly source: CatalogSource,
    private readonly providers: ProviderWaits,
    private readonly times: ServiceTimes,
    private readonly health: QueueHealth,
    private readonly figures: TaskFigures,
  ) {}

  /** Why each of them waits, with two Redis commands for all. Never throws: without Redis, that is the reason. */
  async reasonsOf(requests: readonly WaitingRequest[]): Promise<WaitingReason[]> {
    if (requests.length === 0) return [];
    if (!this.health.accepting) return requests.map(() => waitingFor('queue'));
    try {
      const [{ slots }, obstacles] = await Promise.all([
        this.times.read(),
        this.providers.of(requests.map((request) => this.planOf(request))),
      ]);
      return requests.map(({ retryAt }, index) => reasonOf(slots > 0, obstacles[index], retryAt));
    } catch {
      this.health.reportFailure();
      return requests.map(() => waitingFor('queue'));
    }
  }

  /**
   * How long no provider may be called for each of them, in ms; null: nobody knows, because an operator drained them. With
   * one Redis command for all. Never throws: without Redis, nothing is held.
   */
  async heldMs(requests: readonly WaitingRequest[]): Promise<(number | null)[]> {
    if (requests.length === 0 || !this.health.accepting) return requests.map(() => 0);
    try {
      const obstacles = await this.providers.of(requests.map((request) => this.planOf(request)));
      const now = Date.now();
      return obstacles.map((obstacle) => heldBy(obstacle, now));
    } catch {
      this.health.reportFailure();
      return requests.map(() => 0);
    }
  }

  /** All waiting tasks of all accounts by reason, most tasks first. Throws when the database does not answer. */
  async groups(): Promise<WaitingGroup[]> {
    const rows = await this.figures.waiting();
    const reasons = await this.reasonsOf(
      rows.map(({ model, region, onlyProvider, hasImages, hasMask, hasMarkup, retryAt }) => ({
        ...{ model, retryAt, region: region ?? undefined, onlyProvider: onlyProvider ?? undefined },
        ...{ images: hasImages ? 1 : 0, mask: hasMask, markup: hasMarkup },
      })),
    );
    const groups = new Map<string, WaitingGroup>();
    for (const [index, { count, oldestMs }] of rows.entries()) {
      const reason = reasons[index] ?? waitingFor('line');
      const name = [reason.for, reason.provider, reason.why].join(' ');
      const known = groups.get(name);
      groups.set(name, {
        // Retries are told by the first of them.
        reason: known === undefined || isSooner(reason, known.reason) ? reason : known.reason,
        count: (known?.count ?? 0) + count,
        oldest_seconds: Math.max(known?.oldest_seconds ?? 0, Math.round(oldestMs / 1_000)),
      });
    }
    return [...groups.values()].sort((one, other) => other.count - one.count);
  }

  private planOf({ model, ...needs }: WaitingRequest): WaitingPlan {
    const { current } = this.source;
    const entry = modelOf(current, 'image', model);
    const evenDrained = needs.onlyProvider !== undefined;
    try {
      return { candidates: entry === undefined ? [] : routePlan(entry, current, needs, ''), evenDrained };
    } catch (error) {
      // No route serves it anymore: it fails as soon as a worker takes it.
      if (error instanceof AppError) return { candidates: [], evenDrained };
      throw error;
    }
  }
}

function reasonOf(hasWorkers: boolean, obstacle: WaitingReason | undefined, retryAt: Date | null): WaitingReason {
  if (!hasWorkers) return waitingFor('worker');
  if (obstacle !== undefined) return obstacle;
  if (retryAt !== null && retryAt.getTime() > Date.now()) {
    return waitingFor('retry', { next_try_at: retryAt.toISOString() });
  }
  return waitingFor('line');
}

/** A limit on calls holds tasks up, but for no time that is known to be long. */
function heldBy(obstacle: WaitingReason | undefined, now: number): number | null {
  if (obstacle?.why === 'drained') return null;
  const end = obstacle?.next_try_at ?? null;
  return end === null ? 0 : Math.max(0, Date.parse(end) - now);
}

function isSooner({ next_try_at: one }: WaitingReason, { next_try_at: other }: WaitingReason): boolean {
  return one !== null && (other === null || one < other);
}
