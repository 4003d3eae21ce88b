import { Inject, Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import { tryCommit } from '#database/connections.sql.js';
import { PrismaService } from '#database/prisma.service.js';
import { QueueHealth } from '#queue/queue-health.js';
import type { ObjectStore } from '#storage/object-store.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import { Logger } from '#telemetry/logger.js';
import { HealthConfig } from './health.config.js';
import { requireMigrations } from '#database/migrate.js';

/** How long a check may take, in ms. */
const CHECK_TIMEOUT_MS = 5_000;
/** Delay before a first failure is checked again, in ms: it may only have been a moment without a free connection. */
const RECHECK_MS = 1_000;
/** While the process starts, failures do not count for this long, in ms: connections may not be open yet. */
const START_MS = 5_000;
const START_RECHECK_MS = 50;

/** A working store is checked with every twelfth check of the others, once a minute: each check writes, reads and deletes an object. */
const STORE_CHECKS_EVERY = 12;

/** What every process depends on. Probes publish these names, so they must never contain an error message. */
export const DEPENDENCIES = ['database', 'migrations', 'commits', 'queue', 'storage'] as const;
export type Dependency = (typeof DEPENDENCIES)[number];

/** A process can't serve requests without these. Other failures are reported, and the process keeps serving. */
export const NEEDED: ReadonlySet<Dependency> = new Set<Dependency>(['database', 'migrations']);

/** The result of the last checks of a dependency. `unknown`: not checked yet. */
export interface Finding {
  readonly state: 'unknown' | 'ok' | 'failing';
  readonly since: Date;
  readonly checkedAt: Date | undefined;
}

/**
 * Checks the process's dependencies in the background and keeps the results in memory, so that probes are cheap: an
 * orchestrator may probe as often as it likes, and a slow store never slows a probe.
 */
@Injectable()
export class DependencyChecks implements OnModuleInit, OnModuleDestroy {
  private readonly stopping = new AbortController();
  private readonly found = new Map<Dependency, Finding>();
  /** Dependencies whose last check failed, including failures that do not count yet. */
  private readonly failed = new Set<Dependency>();
  private startUntil = 0;

  constructor(
    private readonly prisma: PrismaService,
    private readonly queue: QueueHealth,
    @Inject(OBJECT_STORE) private readonly store: ObjectStore,
    private readonly config: HealthConfig,
    private readonly logger: Logger,
  ) {}

  onModuleInit(): void {
    const { checkIntervalMs } = this.config;
    this.startUntil = performance.now() + START_MS;
    void this.watch('database', () => this.checkDatabase(), checkIntervalMs);
    void this.watch('queue', () => this.check('queue', this.queue.check()), checkIntervalMs);
    void this.watch('storage', () => this.check('storage', this.store.check()), STORE_CHECKS_EVERY * checkIntervalMs);
  }

  /** Stops the checks before connections close, so that the shutdown is not reported as failures. */
  onModuleDestroy(): void {
    this.stopping.abort();
  }

  /** The current finding. */
  of(dependency: Dependency): Finding {
    return this.found.get(dependency) ?? { state: 'unknown', since: STARTED, checkedAt: undefined };
  }

  private async watch(dependency: Dependency, check: () => Promise<void>, intervalMs: number): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      await check();
      const pause = this.pauseAfter(dependency, intervalMs);
      await delay(pause, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  private pauseAfter(dependency: Dependency, intervalMs: number): number {
    if (!this.failed.has(dependency)) return intervalMs;
    const { state } = this.of(dependency);
    if (state === 'unknown') return START_RECHECK_MS;
    return Math.min(intervalMs, state === 'failing' ? this.config.checkIntervalMs : RECHECK_MS);
  }

  /** Migrations and commits are checked only while the database responds. */
  private async checkDatabase(): Promise<void> {
    await this.check('database', this.prisma.ping());
    if (this.failed.has('database')) return;
    await this.check('migrations', requireMigrations(this.prisma.pool));
    await this.check('commits', tryCommit(this.prisma.pool));
  }

  /**
   * Whether a failure counts while the process starts. Missing migrations do: the check ran over a working connection.
   */
  private countsAtStart(dependency: Dependency): boolean {
    return dependency === 'migrations' || performance.now() > this.startUntil;
  }

  private async check(dependency: Dependency, check: Promise<void>): Promise<void> {
    const error = await inTime(check).then(
      () => undefined,
      (reason: unknown) => reason ?? new Error('failed'),
    );
    if (this.stopping.signal.aborted) return;
    const before = this.of(dependency);
    const counts = before.state === 'unknown' ? this.countsAtStart(dependency) : this.failed.has(dependency);
    if (error === undefined) this.failed.delete(dependency);
    else this.failed.add(dependency);
    const state = error === undefined ? 'ok' : counts ? 'failing' : before.state;
    const now = new Date();
    this.found.set(dependency, { state, since: state === before.state ? before.since : now, checkedAt: now });
    if (state === before.state) return;
    const what = NEEDED.has(dependency) ? 'readiness' : 'dependency';
    if (state === 'failing') this.logger.warn(`${what}.lost`, { code: dependency, error });
    else if (before.state === 'failing') this.logger.info(`${what}.restored`, { code: dependency });
  }
}

const STARTED = new Date();

async function inTime(check: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('does not answer')), CHECK_TIMEOUT_MS);
  });
  try {
    await Promise.race([check, late]);
  } finally {
    clearTimeout(timer);
  }
}
