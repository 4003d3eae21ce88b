import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Metrics } from '#telemetry/metrics.js';
import { DEPENDENCIES, DependencyChecks, NEEDED, type Dependency, type Finding } from './dependency-checks.js';

/** Reasons why a process is not ready. */
export const UNREADY_REASONS = ['stopping', 'starting', 'database', 'migrations'] as const;
export type UnreadyReason = (typeof UNREADY_REASONS)[number];

/** One dependency as a probe reports it; times are ISO 8601. */
export interface DependencyReport {
  readonly state: Finding['state'];
  readonly since: string;
  readonly checked_at: string | null;
}

/** The body of `/readyz`, for the API and workers alike. */
export interface ReadinessReport {
  readonly status: 'ready' | 'not ready';
  readonly reasons: UnreadyReason[];
  readonly dependencies: Record<Dependency, DependencyReport>;
}

/**
 * Whether this process is ready. A failing shared service must not take every process out of its pool while reads still
 * work: without Redis, the store, or commits a process stays ready, and reports the failure. Reads memory only.
 */
@Injectable()
export class Readiness implements OnModuleInit {
  constructor(
    private readonly checks: DependencyChecks,
    private readonly metrics: Metrics,
  ) {}

  onModuleInit(): void {
    const help = 'Whether each dependency of this process passed its last check (1) or not (0).';
    this.metrics.gauges('dependency_up', help, 'dependency', () => Promise.resolve(this.states()));
  }

  /** `stopping`: the process is shutting down. */
  report(stopping: boolean): ReadinessReport {
    const reasons = stopping ? (['stopping'] as const) : this.reasons();
    return {
      status: reasons.length === 0 ? 'ready' : 'not ready',
      reasons: [...reasons],
      dependencies: {
        database: this.reportOf('database'),
        migrations: this.reportOf('migrations'),
        commits: this.reportOf('commits'),
        queue: this.reportOf('queue'),
        storage: this.reportOf('storage'),
      },
    };
  }

  private reasons(): UnreadyReason[] {
    const failing = UNREADY_REASONS.filter((reason) => isNeeded(reason) && this.checks.of(reason).state === 'failing');
    return this.starting ? ['starting', ...failing] : failing;
  }

  /** True until every dependency has been checked once, so that a new process joins with open connections. */
  private get starting(): boolean {
    const unknown = DEPENDENCIES.filter((dependency) => this.checks.of(dependency).state === 'unknown');
    // Migrations and commits are not checked while the database fails.
    const databaseFails = this.checks.of('database').state === 'failing';
    return unknown.some((dependency) => (dependency !== 'migrations' && dependency !== 'commits') || !databaseFails);
  }

  private reportOf(dependency: Dependency): DependencyReport {
    const { state, since, checkedAt } = this.checks.of(dependency);
    return { state, since: since.toISOString(), checked_at: checkedAt?.toISOString() ?? null };
  }

  private states(): Record<string, number> {
    const known = DEPENDENCIES.filter((dependency) => this.checks.of(dependency).state !== 'unknown');
    return Object.fromEntries(known.map((name) => [name, this.checks.of(name).state === 'ok' ? 1 : 0]));
  }
}

function isNeeded(reason: UnreadyReason): reason is UnreadyReason & Dependency {
  return reason !== 'stopping' && reason !== 'starting' && NEEDED.has(reason);
}
