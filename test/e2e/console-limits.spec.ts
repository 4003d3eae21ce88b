import { Redis } from 'ioredis';
import { gradientImage } from '#images/sample-images.fixture.js';
import type { Browser } from '../support/console.js';
import { signInFirstAdmin } from '../support/console.js';
import { insertFailed } from '../support/failed-task.js';
import { startPlatform, type Platform } from '../support/platform.js';

const IMAGE = { model: 'gpt-image-2', resolution: '1k', prompt: 'a flood' };

/** With limits as they are unless set, but for the pages', which are low. */
describe('limits of what the console orders', () => {
  let platform: Platform;
  let ada: Browser;
  beforeAll(async () => {
    platform = await startPlatform({
      RATE_SUBMITS_PER_MINUTE: '60',
      RATE_POLLS_PER_MINUTE: '40',
      MAX_TASKS_IN_FLIGHT: '100',
    });
    ada = await signInFirstAdmin(platform);
  });
  afterAll(() => platform.close());

  async function rows(): Promise<number> {
    const { rows: found } = await platform.pool.query<{ count: number }>('SELECT count(*)::int AS count FROM tasks');
    return found[0]?.count ?? 0;
  }

  /** Keeps the minutes that have begun from ending: a busy machine may need more than one for what is to exceed a limit. */
  async function holdMinutes(): Promise<void> {
    const redis = new Redis(platform.settings['REDIS_URL'] ?? '');
    const counters = await redis.keys(`${platform.settings['REDIS_PREFIX'] ?? ''}:rate:*`);
    for (const counter of counters) await redis.pexpire(counter, 3_600_000);
    redis.disconnect();
    expect(counters).not.toEqual([]);
  }

  /** On a slow machine, the database may not answer 150 at once in time; who is told so tries again. */
  async function order(): Promise<Response> {
    let answer = await ada.call('/images', { body: IMAGE });
    while (answer.status === 503) answer = await ada.call('/images', { body: IMAGE });
    return answer;
  }

  it('M2: 150 images at once are refused above 60 with the 429 that keys get, and so is each of them again', async () => {
    const first = await order();
    await holdMinutes();
    const answers = [first, ...(await Promise.all(Array.from({ length: 149 }, order)))];
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(60);
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(90);
    expect(refused[0]?.headers.get('ratelimit-policy')).toBe('"submits";q=60;w=60');
    expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await refused[0]?.json()).toMatchObject({ error: { code: 'rate_limit_exceeded' } });
    expect(await rows()).toBe(60);

    const good = answers.find(({ status }) => status === 202);
    const { task_id: id } = (await good?.json()) as { task_id: string };
    const form = new FormData();
    form.set('prompt', 'A hat');
    form.set('image', new Blob([new Uint8Array(await gradientImage(96, 80, 'png'))], { type: 'image/png' }), 'a.png');
    for (const [path, body] of [
      [`/tasks/${id}/again`, undefined],
      ['/edits', form],
      ['/providers/sandbox/test', {}],
    ] as const) {
      const answer = await ada.call(path, { method: 'POST', ...(body !== undefined && { body }) });
      const { error } = (await answer.json()) as { error: { code: string } };
      expect([path, answer.status, error.code]).toEqual([path, 429, 'rate_limit_exceeded']);
    }
    expect(await rows()).toBe(60);
  });

  it('M2: a retried task counts as its key’s and its account’s, and what is above is refused by name', async () => {
    await platform.pool.query(`UPDATE api_keys SET submits_per_minute = 2 WHERE name = 'e2e'`);
    const failed = await Promise.all(Array.from({ length: 5 }, () => insertFailed(platform)));
    const outcome = await ada.ask<{ retried: object[]; refused: { code: string }[] }>('/failures/retry', {
      body: { tasks: failed },
    });
    expect(outcome.retried).toHaveLength(2);
    const refused = Array.from({ length: 3 }, () => 'rate_limit_exceeded');
    expect(outcome.refused.map(({ code }) => code)).toEqual(refused);
    await holdMinutes();
    const all = await ada.ask<typeof outcome & { count: number }>('/tasks/retry', { method: 'POST' });
    expect([all.count, all.refused.map(({ code }) => code)]).toEqual([0, refused]);
  });

  it('M2: the pages of one person may ask often, and not without end', async () => {
    const answers = [await ada.call('/tasks?limit=1')];
    await holdMinutes();
    while (answers.length < 80) {
      answers.push(...(await Promise.all(Array.from({ length: 20 }, () => ada.call('/tasks?limit=1')))));
    }
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 429]));
    const refused = answers.filter(({ status }) => status === 429);
    // What came before counts, too.
    expect(refused.length).toBeGreaterThanOrEqual(40);
    expect(refused.length).toBeLessThan(60);
    expect(await refused[0]?.json()).toMatchObject({ error: { code: 'rate_limit_exceeded' } });
  });
});
