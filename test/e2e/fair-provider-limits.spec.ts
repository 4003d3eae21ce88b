import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from '#embedded/wait-until.js';
import { startPlatform, type Platform } from '../support/platform.js';

/** Tasks that the flooding key keeps in flight. */
const FLOOD = 150;
/** Within so many calls, a task of another caller must be called. */
const MOST_CALLS = 10;
/** Providers that make one image at a time, so the order of ends is the order of calls; one for each test. */
const CATALOG = `providers:
  narrow: { type: sandbox, limits: { concurrency: 1 } }
  thin: { type: sandbox, limits: { concurrency: 1 } }
models:
  gpt-image-2: { kind: image, routes: [{ provider: narrow }] }
  sketch: { kind: image, routes: [{ provider: thin }] }
`;

/** One worker with more slots than its provider, so that all waiting tasks have left the fair queue. */
describe('a caller beside one that floods a provider with a limit', () => {
  let platform: Platform;
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-narrow-'));
    await writeFile(join(folder, 'models.yaml'), CATALOG);
    const settings = { MODELS_FILE: join(folder, 'models.yaml'), WORKER_CONCURRENCY: '10' };
    platform = await startPlatform(settings);
  });
  afterAll(async () => {
    await platform.close();
    await rm(folder, { recursive: true, force: true });
  });

  let submitted = 0;
  async function submit(key: string, model: string): Promise<string> {
    const body = { model, resolution: '1k', prompt: `image ${submitted++} [[latency=100ms]]` };
    const response = await platform.call('/v1/images/generations/async', { key, body });
    expect(response.status).toBe(202);
    await response.arrayBuffer();
    return response.headers.get('x-task-id') ?? '';
  }
  const numberOf = async (text: string, values: unknown[] = []): Promise<number> =>
    (await platform.pool.query<{ n: number }>(`SELECT COALESCE(${text}`, values)).rows[0]?.n ?? NaN;

  /** Submits four tasks, one after the other, while the flood goes on; how many calls was each behind? */
  async function callsBefore(flooding: string, small: string, model: string): Promise<number[]> {
    await platform.pool.query('DELETE FROM tasks');
    const refill = async (): Promise<void> => {
      const pending = await numberOf(`count(*), 0)::int AS n FROM tasks WHERE status = 'pending'`);
      await Promise.all(Array.from({ length: Math.max(0, FLOOD - pending) }, () => submit(flooding, model)));
    };
    /** How many tasks have ended since this one was submitted, until it ended itself. */
    const callsTo = (id: string): Promise<number> =>
      numberOf(
        `count(*), 0)::int AS n FROM tasks JOIN tasks AS own ON own.id = $1
         WHERE tasks.finished_at BETWEEN own.created_at AND COALESCE(own.finished_at, now())`,
        [id],
      );
    const ended = (id: string): Promise<number> =>
      numberOf(`count(*), 0)::int AS n FROM tasks WHERE id = $1 AND status = 'completed'`, [id]);
    const places: number[] = [];
    await refill();
    // Every task has asked the provider by now.
    const waiting = `count(*), 0)::int AS n FROM tasks WHERE status = 'pending' AND waits > 0`;
    expect(await waitUntil(async () => (await numberOf(waiting)) > FLOOD / 2, { timeoutMs: 60_000 })).toBe(true);
    for (let n = 0; n < 4; n++) {
      // It counts calls from its row on, so the worker stands still until the task is in line, too.
      platform.worker.kill('SIGSTOP');
      const id = await submit(small, model).finally(() => platform.worker.kill('SIGCONT'));
      const decided = async (): Promise<boolean> => {
        await refill();
        return (await ended(id)) === 1 || (await callsTo(id)) > MOST_CALLS;
      };
      expect(await waitUntil(decided, { timeoutMs: 60_000 })).toBe(true);
      places.push(await callsTo(id));
    }
    const claims = await numberOf(`sum(attempt), 0)::int AS n FROM tasks`);
    const tasks = await numberOf(`count(*), 0)::int AS n FROM tasks`);
    process.stdout.write(`calls up to each: ${places.join(', ')}; ${claims} claims of ${tasks} tasks\n`);
    expect(claims).toBeLessThan(5 * tasks);
    await platform.pool.query(
      `UPDATE tasks SET status = 'cancelled', phase = 'done', finished_at = now(), lease_until = NULL WHERE status = 'pending'`,
    );
    return places;
  }

  const unlimited = { submits_per_minute: 0, tasks_in_flight: 0 };

  it('H6: is called within ten calls, as another account', async () => {
    const flooding = await platform.newKey(unlimited, await platform.newAccount());
    const places = await callsBefore(flooding, await platform.newKey({}, await platform.newAccount()), 'gpt-image-2');
    expect(Math.max(...places)).toBeLessThanOrEqual(MOST_CALLS);
  });

  it('H6: is called within ten calls, as another key of the same account', async () => {
    const account = await platform.newAccount();
    await platform.pool.query('UPDATE accounts SET submits_per_minute = 0, tasks_in_flight = 0 WHERE id = $1', [
      account,
    ]);
    const flooding = await platform.newKey(unlimited, account);
    const places = await callsBefore(flooding, await platform.newKey({}, account), 'sketch');
    expect(Math.max(...places)).toBeLessThanOrEqual(MOST_CALLS);
  });
});
