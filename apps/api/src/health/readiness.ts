import { Inject, Injectable } from '@nestjs/common';
import { join } from 'node:path';
import { Database } from '#database/database.js';
import { pendingMigrations } from '#database/migrate.js';
import { QueueHealth } from '#queue/queue-health.js';
import type { ObjectStore } from '#storage/object-store.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import { Draining } from '../http/draining.js';

/** How long one check may take, and how long its outcome stands for probes that come after, in ms. */
const CHECK_TIMEOUT_MS = 5_000;
const REUSE_MS = 1_000;
const MIGRATIONS = join(import.meta.dirname, '../../../../../prisma/migrations');

/** Whether this process can do its work now, and if not, why. */
@Injectable()
export class Readiness {
  private latest: { readonly at: number; readonly problems: Promise<string[]> } | undefined;

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(QueueHealth) private readonly queue: QueueHealth,
    @Inject(OBJECT_STORE) private readonly store: ObjectStore,
    @Inject(Draining) private readonly draining: Draining,
  ) {}

  /** Sentences for an operator; empty when all is well. Probes in quick succession share one check. */
  async problems(): Promise<string[]> {
    if (this.draining.started) return ['the process is stopping'];
    if (this.latest === undefined || Date.now() - this.latest.at > REUSE_MS) {
      this.latest = { at: Date.now(), problems: this.check() };
    }
    return this.latest.problems;
  }

  private async check(): Promise<string[]> {
    const problems = await Promise.all([
      problemOf('database', this.checkDatabase()),
      problemOf('queue', this.queue.check()),
      problemOf('storage', this.store.check()),
    ]);
    return problems.filter((problem) => problem !== undefined);
  }

  private async checkDatabase(): Promise<void> {
    await this.database.ping();
    const pending = await pendingMigrations(this.database.pool, MIGRATIONS);
    if (pending.length > 0) throw new Error(`${pending.length} migrations are not applied`);
  }
}

async function problemOf(part: string, check: Promise<void>): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new Error('does not answer'));
    }, CHECK_TIMEOUT_MS);
  });
  try {
    await Promise.race([check, late]);
    return undefined;
  } catch (error) {
    return `${part}: ${error instanceof Error ? error.message : 'failed'}`;
  } finally {
    clearTimeout(timer);
  }
}
