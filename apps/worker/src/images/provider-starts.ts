import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { Catalog } from '#catalog/catalog.js';
import { serverLabels } from '#providers/provider-entry.js';
import type { ProviderError } from '#providers/provider-error.js';
import type { Candidate } from '#routing/route-plan.js';
import { NOT_CALLED, unknownEnd, type CallStart, type FirstCalls } from '#tasks/row/provider-call.js';
import { TaskTransitions } from '#tasks/states/task-transitions.js';
import { TasksConfig } from '#tasks/row/tasks.config.js';
import { Logger } from '#telemetry/logger.js';
import { ProviderRegistry } from '../providers/provider-registry.js';
import { identity, type Attempt } from './attempt.js';
import { startsUsedUp, StartNotCounted } from './failure-verdict.js';
import { LeaseLost } from './leases.js';

/** Delay between two writes of a provider's job id, when the database fails. */
const RETRY_MS = 500;

/**
 * Records provider calls: before they are made, and what happens to them. Throws LeaseLost when this worker no longer
 * holds the task.
 */
@Injectable()
export class ProviderStarts {
  private first: { readonly of: Catalog; readonly calls: FirstCalls } | undefined;

  constructor(
    private readonly transitions: TaskTransitions,
    private readonly config: TasksConfig,
    private readonly providers: ProviderRegistry,
    private readonly logger: Logger,
  ) {}

  /** Throws AppError `interrupted` when the task has lost as many workers as it may have starts. */
  refuseRepeatedLosses({ claimed }: Attempt): void {
    if (claimed.losses >= this.config.maxProviderStarts) throw startsUsedUp();
  }

  /** Calls that the claim itself may count: those of models with a single, free provider. */
  firstCalls(): FirstCalls {
    const { catalog } = this.providers;
    if (this.first?.of !== catalog) this.first = { of: catalog, calls: soleFreeCalls(catalog) };
    return this.first.calls;
  }

  /** Whether the maximum number of starts allows another call. */
  mayStart({ starts }: Attempt): boolean {
    return starts < this.config.maxProviderStarts;
  }

  /** Counts a call before it is made, unless the claim already has, and records how the previous one ended. */
  async start(attempt: Attempt, { provider, key, model, region }: Candidate): Promise<void> {
    const { lease, call: before, begun } = attempt;
    lease.signal.throwIfAborted();
    if (!this.mayStart(attempt)) throw startsUsedUp();
    const call = {
      ...serverLabels(provider),
      ...(region !== undefined && { region }),
      key: key?.name ?? '',
      model,
      free: provider.free,
    };
    const endBefore = begun ? NOT_CALLED : before && (before.end ?? unknownEnd(before.provider.free));
    attempt.begun = undefined;
    attempt.call = { provider, providerJobId: undefined, end: undefined };
    if (begun !== undefined && isSame(begun, call)) {
      attempt.starts += 1;
      return;
    }
    const counted = await this.transitions
      .startProvider(lease, call, this.config.maxProviderStarts, endBefore)
      .catch((cause: unknown) => {
        throw new StartNotCounted('not counted', { cause });
      });
    if (!counted) throw new LeaseLost();
    attempt.starts += 1;
  }

  /** Retries until the row has the job id or the lease is lost: without the id, a paid job can't be fetched. */
  async accepted(attempt: Attempt, providerJobId: string, adapted: readonly string[]): Promise<void> {
    const { claimed, lease } = attempt;
    for (;;) {
      try {
        if (!(await this.transitions.acceptedByProvider(lease, providerJobId, adapted))) throw new LeaseLost();
        if (attempt.call !== undefined) attempt.call.providerJobId = providerJobId;
        return;
      } catch (error) {
        if (error instanceof LeaseLost || lease.signal.aborted) throw error;
        this.logger.warn('task.job_not_noted', { ...identity(claimed), attempt: lease.attempt, error });
        await delay(RETRY_MS);
      }
    }
  }

  /** Logs that a call failed without a charge, and that the next provider or key is called. */
  failedOver({ claimed, lease, call }: Attempt, error: ProviderError): void {
    const { code } = error;
    this.logger.warn('task.failed_over', {
      ...identity(claimed),
      attempt: lease.attempt,
      ...(call && serverLabels(call.provider)),
      code,
      error,
    });
  }

  /** Logs that the provider's job could not be checked, and is checked again later. */
  jobNotChecked({ claimed, lease, call }: Attempt, error: ProviderError): void {
    const { code, status } = error;
    this.logger.warn('task.job_not_checked', {
      ...identity(claimed),
      attempt: lease.attempt,
      ...(call && serverLabels(call.provider)),
      code,
      status,
      error,
    });
  }
}

/**
 * By model. Calls of paid providers must be committed on their own, and where several providers serve a model, the task
 * decides.
 */
function soleFreeCalls({ models, providers }: Catalog): FirstCalls {
  const calls = [...models.values()].flatMap(({ kind, name, ranks }) => {
    const [route, ...others] = kind === 'image' ? ranks.flat() : [];
    const provider = route && providers.get(route.provider);
    const [server, ...otherServers] = provider?.servers ?? [];
    if (route === undefined || others.length > 0 || server?.free !== true) return [];
    if (otherServers.length > 0 || server.server !== undefined || server.keys.length > 1) return [];
    const region = server.region ?? route.region;
    const place = region === undefined ? {} : { region };
    const call = { provider: server.name, ...place, key: server.keys[0]?.name ?? '', model: route.model, free: true };
    return [[name, call] as const];
  });
  return Object.fromEntries(calls);
}

function isSame(one: CallStart, other: CallStart): boolean {
  return (
    one.provider === other.provider &&
    one.server === other.server &&
    one.key === other.key &&
    one.model === other.model &&
    one.free === other.free
  );
}
