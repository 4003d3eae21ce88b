import { Inject, Injectable } from '@nestjs/common';
import { join } from 'node:path';
import { PACKAGE_ROOT } from '#config/package-root.js';
import { PrismaService } from '#database/prisma.service.js';
import { pendingMigrations } from '#database/migrate.js';
import { QueueHealth } from '#queue/queue-health.js';
import type { ObjectStore } from '#storage/object-store.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import { Logger } from '#telemetry/logger.js';
import { Draining } from '../common/draining.js';

/** How long one check may take, and how long its outcome stands for probes that come after, in ms. */
const CHECK_TIMEOUT_MS = 5_000;
const REUSE_MS = 1_000;
const MIGRATIONS = join(PACKAGE_ROOT, 'prisma', 'migrations');

/** What may keep a process from its work. Anyone may ask, so it is words of ours and never an error's. */
export const UNREADY_REASONS = ['stopping', 'database', 'migrations', 'queue', 'storage'] as const;
export type UnreadyReason = (typeof UNREADY_REASONS)[number];

/** Whether this process can do its work now, and if not, what is missing. */
@Injectable()
export class Readiness {
  private latest: { readonly at: number; readonly reasons: Promise<UnreadyReason[]> } | undefined;
  /** What was wrong at the last check, and is in the log. */
  private readonly told = new Set<UnreadyReason>();

  constructor(
    private readonly prisma: PrismaService,
    private readonly queue: QueueHealth,
    @Inject(OBJECT_STORE) private readonly store: ObjectStore,
    private readonly draining: Draining,
    private readonly logger: Logger,
  ) {}

  /** Empty when all is well. Probes in quick succession share one check; what is wrong with a part is logged once. */
  async problems(): Promise<UnreadyReason[]> {
    if (this.draining.started) return ['stopping'];
    if (this.latest === undefined || Date.now() - this.latest.at > REUSE_MS) {
      this.latest = { at: Date.now(), reasons: this.check() };
    }
    return this.latest.reasons;
  }

  private async check(): Promise<UnreadyReason[]> {
    const reasons = await Promise.all([
      this.checkDatabase(),
      this.reasonOf('queue', this.queue.check()),
      this.reasonOf('storage', this.store.check()),
    ]);
    return reasons.filter((reason) => reason !== undefined);
  }

  private async checkDatabase(): Promise<UnreadyReason | undefined> {
    const away = await this.reasonOf('database', this.prisma.ping());
    return away ?? (await this.reasonOf('migrations', this.checkMigrations()));
  }

  private async checkMigrations(): Promise<void> {
    const pending = await pendingMigrations(this.prisma.pool, MIGRATIONS);
    if (pending.length > 0) throw new Error(`${pending.length} migrations are not applied`);
  }

  private async reasonOf(part: UnreadyReason, check: Promise<void>): Promise<UnreadyReason | undefined> {
    try {
      await inTime(check);
      if (this.told.delete(part)) this.logger.info('readiness.restored', { code: part });
      return undefined;
    } catch (error) {
      if (!this.told.has(part)) this.logger.warn('readiness.lost', { code: part, error });
      this.told.add(part);
      return part;
    }
  }
}

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
