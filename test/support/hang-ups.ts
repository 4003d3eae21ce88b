import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from '#embedded/wait-until.js';
import { BudgetRepository } from '#billing/budget.repository.js';
import { startPlatform, type Platform } from './platform.js';
import { databaseOf } from './open-prisma.js';

/** A key with a budget, in millionths. */
export interface Payer {
  readonly id: string;
  readonly key: string;
  /** Spend of its budget, in millionths. */
  spent(): Promise<number>;
  /** Waits up to `timeoutMs` until its budget has spent this amount, in millionths; returns what it has spent then. */
  spends(amount: number, timeoutMs?: number): Promise<number>;
}

/** A platform with a price book and scripted upstreams, and keys with budgets whose callers may hang up. */
export async function openHangUpRoom(catalog: string, changes: Readonly<Record<string, string>> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-hang-ups-'));
  await writeFile(join(folder, 'models.yaml'), catalog);
  const platform: Platform = await startPlatform({
    MODELS_FILE: join(folder, 'models.yaml'),
    UP_KEY: 'upstream-secret-1',
    ...changes,
  });
  const budgets = new BudgetRepository(databaseOf(platform));
  return {
    platform,
    async newPayer(limit: number): Promise<Payer> {
      const { id, key } = await platform.newKeyWithId();
      await budgets.set({ ownerId: id, owner: 'key' }, { limit, period: 'total' });
      const spent = async (): Promise<number> => (await budgets.find([id]))[0]?.spent ?? NaN;
      const spends = async (amount: number, timeoutMs = 20_000): Promise<number> => {
        await waitUntil(async () => (await spent()) === amount, { timeoutMs });
        return spent();
      };
      return { id, key, spent, spends };
    },
    async close(): Promise<void> {
      await platform.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export type HangUpRoom = Awaited<ReturnType<typeof openHangUpRoom>>;
