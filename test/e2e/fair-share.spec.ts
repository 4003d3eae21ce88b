import { waitUntil } from '#embedded/wait-until.js';
import { startPlatform, type Platform } from '../support/platform.js';

/** One worker that takes one task after the other, so that places are starts. */
describe('an account beside one that floods', () => {
  let platform: Platform;
  beforeAll(async () => {
    platform = await startPlatform({ WORKER_CONCURRENCY: '1' });
  });
  afterAll(() => platform.close());

  async function submit(key: string): Promise<string> {
    const body = { model: 'gpt-image-2', resolution: '1k', prompt: 'a share [[latency=50ms]]' };
    const response = await platform.call('/v1/images/generations/async', { key, body });
    expect(response.status).toBe(202);
    return response.headers.get('x-task-id') ?? '';
  }

  /** The keys' tasks are queued, then four of another account; at which places did those start? */
  async function placesOf(keys: readonly string[], tasks: number): Promise<number[]> {
    await platform.pool.query('DELETE FROM tasks');
    const small = await platform.newKey({}, await platform.newAccount());
    platform.worker.kill('SIGSTOP');
    await Promise.all(Array.from({ length: tasks }, (_, n) => submit(keys[n % keys.length] ?? '')));
    const own: string[] = [];
    for (let n = 0; n < 4; n++) own.push(await submit(small));
    platform.worker.kill('SIGCONT');
    const started = async (): Promise<string[]> => {
      const { rows } = await platform.pool.query<{ id: string }>(
        'SELECT id FROM tasks WHERE started_at IS NOT NULL ORDER BY started_at, id',
      );
      return rows.map(({ id }) => id);
    };
    const all = async (): Promise<boolean> => (await started()).filter((id) => own.includes(id)).length === 4;
    expect(await waitUntil(all, { timeoutMs: 60_000 })).toBe(true);
    const order = await started();
    const places = own.map((id) => order.indexOf(id) + 1).sort((a, b) => a - b);
    await platform.pool.query(
      `UPDATE tasks SET status = 'cancelled', phase = 'done', finished_at = now(), lease_until = NULL WHERE status = 'pending'`,
    );
    return places;
  }

  it('H6: four tasks start within the first ten beside 150 of a key that weighs a hundred and has no limits', async () => {
    const heavy = await platform.newKey(
      { weight: 100, submits_per_minute: 0, tasks_in_flight: 0 },
      await platform.newAccount(),
    );
    const places = await placesOf([heavy], 150);
    // The worker had perhaps a task in hand when it was stopped.
    expect(places.at(-1)).toBeLessThanOrEqual(10);
    process.stdout.write(`places beside a key of weight 100: ${places.join(', ')}\n`);
  });

  it('H6: four tasks start within the first ten beside 150 of forty keys of one account', async () => {
    const account = await platform.newAccount();
    const keys = await Promise.all(Array.from({ length: 40 }, () => platform.newKey({ weight: 100 }, account)));
    const places = await placesOf(keys, 150);
    expect(places.at(-1)).toBeLessThanOrEqual(10);
    process.stdout.write(`places beside forty keys: ${places.join(', ')}\n`);
  });
});
