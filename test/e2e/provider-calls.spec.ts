import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Redis } from 'ioredis';
import { waitUntil } from '#embedded/wait-until.js';
import { signInFirstAdmin, type Browser } from '../support/console.js';
import { plainImage } from '../support/image-provider-suite.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { startWorker, type TestProcess } from '../support/processes.js';
import { apiError, image, startUpstream, type ScriptedUpstream } from '../support/scripted-upstream.js';

const WAIT = { timeoutMs: 60_000 };
const SAID = { status: 500, message: 'The GPU fell off the bus.' };

interface Totals {
  readonly calls: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly rejected: number;
}
interface Provider {
  readonly name: string;
  readonly breaker: string;
  readonly last_hour: {
    readonly total: Totals;
    readonly models: (Totals & { readonly model: string })[];
    readonly minutes: { readonly succeeded: number; readonly failed: number; readonly other: number }[];
    readonly failing: number;
    readonly last_failure: Readonly<Record<string, unknown>> | null;
  };
}

/** Of a provider that fails every call, while another stands in for it. */
describe('how the calls to providers went', () => {
  let folder: string;
  let first: ScriptedUpstream;
  let second: ScriptedUpstream;
  let platform: Platform;
  let other: TestProcess;
  let ada: Browser;
  let redis: Redis;
  let prefix: string;

  beforeAll(async () => {
    [first, second] = await Promise.all([startUpstream(), startUpstream()]);
    folder = await mkdtemp(join(tmpdir(), 'darkroom-provider-calls-'));
    await writeFile(
      join(folder, 'models.yaml'),
      `providers:
  first: { type: openai, base_url: "${first.url}", keys: [{ env: KEY }] }
  second: { type: openai, base_url: "${second.url}", keys: [{ env: KEY }] }
models:
  both: { kind: image, routes: [{ provider: first, model: theirs }, { provider: second, model: spare }] }
  alone: { kind: image, routes: [{ provider: first, model: theirs }] }
  talk: { kind: chat, routes: [{ provider: second }] }
`,
    );
    platform = await startPlatform({
      MODELS_FILE: join(folder, 'models.yaml'),
      KEY: 'sk-canary-4d1f09b7',
      PROVIDER_FAILURES: '3',
      // No pause ends by itself.
      PROVIDER_PAUSE_MS: '60000',
    });
    other = await startWorker(platform.settings);
    ada = await signInFirstAdmin(platform);
    redis = new Redis(platform.settings['REDIS_URL'] ?? '');
    prefix = platform.settings['REDIS_PREFIX'] ?? '';
  });
  afterAll(async () => {
    redis.disconnect();
    await other.stop();
    await platform.close();
    await Promise.all([first.close(), second.close()]);
    await rm(folder, { recursive: true, force: true });
  });

  const providers = async (): Promise<Provider[]> => (await ada.ask<{ data: Provider[] }>('/providers')).data;
  const provider = async (name: string): Promise<Provider> => (await providers()).find((one) => one.name === name)!;
  const generate = async (model: string): Promise<number> => {
    const body = { model, prompt: 'a harbor at dawn', resolution: '1k' };
    const answer = await platform.call('/v1/images/generations', { body });
    await answer.text();
    return answer.status;
  };

  /** Calls by provider, model and whether they succeeded, as the rows of the tasks have them. */
  async function fromRows(): Promise<Record<string, number>> {
    const { rows } = await platform.pool.query<{ kind: string; count: number }>(
      `SELECT concat_ws(' ', call ->> 'provider', call ->> 'model', call ->> 'outcome') AS kind, count(*)::int AS count
       FROM tasks, jsonb_array_elements(calls) AS call WHERE call ->> 'outcome' <> 'not_called' GROUP BY 1`,
    );
    return Object.fromEntries(rows.map(({ kind, count }) => [kind, count]));
  }
  /** The same, as the console shows it. */
  async function fromConsole(): Promise<Record<string, number>> {
    const all = (await providers()).flatMap(({ name, last_hour: { models } }) =>
      models.flatMap(({ model, succeeded, failed, rejected }) => [
        [`${name} ${model} succeeded`, succeeded] as const,
        [`${name} ${model} failed`, failed + rejected] as const,
      ]),
    );
    return Object.fromEntries(all.filter(([, count]) => count > 0));
  }
  /** Workers report their calls once a second. */
  async function expectEqualNumbers(): Promise<Record<string, number>> {
    let rows: Record<string, number> = {};
    let shown = rows;
    // A call that opens the breaker is in its row a moment later.
    const areEqual = async (): Promise<boolean> => {
      [rows, shown] = [await fromRows(), await fromConsole()];
      return isDeepStrictEqual(shown, rows);
    };
    await waitUntil(areEqual, WAIT);
    expect(shown).toEqual(rows);
    return rows;
  }

  it('counts every failed call, of tasks that another provider completes, and of one that waits', async () => {
    const png = await plainImage(1024, 1024);
    first.script(apiError(SAID.status, { message: `${SAID.message} It saw “a harbor at dawn”.` }));
    second.script(image(png));
    expect(await generate('both')).toBe(200);
    expect(await generate('both')).toBe(200);
    const accepted = await platform.call('/v1/images/generations/async', {
      body: { model: 'alone', prompt: 'a harbor at dawn', resolution: '1k' },
    });
    await accepted.text();
    expect(await waitUntil(async () => (await provider('first')).breaker === 'open', WAIT)).toBe(true);
    // No task that ended knows of the third failure.
    const { rows } = await platform.pool.query(`SELECT status FROM tasks WHERE model = 'alone'`);
    expect(rows).toEqual([{ status: 'pending' }]);
    expect(await expectEqualNumbers()).toEqual({ 'first theirs failed': 3, 'second spare succeeded': 2 });
    const { last_hour: hour } = await provider('first');
    expect(hour).toMatchObject({
      total: { calls: 3, succeeded: 0, failed: 3, rate_limited: 0, timed_out: 0, rejected: 0, average_ms: null },
      failing: 3,
      last_failure: {
        code: 'upstream_error',
        status: 500,
        provider_message: `${SAID.message} It saw “[prompt]”.`,
        model: 'theirs',
      },
    });
    const inMinutes = hour.minutes.reduce((sum, { failed }) => sum + failed, 0);
    expect(inMinutes).toBe(3);
    expect(JSON.stringify(await providers())).not.toContain('canary');
  });

  it('lets a waiting task through at once when an operator says so, and goes on when that succeeds', async () => {
    // The task has come back after its own delay, and waits for the end of the pause: first in line, then with its job.
    const isWaiting = async (): Promise<boolean> =>
      (await redis.zcard(`${prefix}:gate:first:waits`)) === 1 && (await redis.zcard(`${prefix}:images:delayed`)) === 1;
    expect(await waitUntil(isWaiting, WAIT)).toBe(true);
    first.script(image(await plainImage(1024, 1024)));
    expect(await ada.ask('/providers/first/try', { method: 'POST' })).toEqual({ paused: true, waiting: 1 });
    const isDone = async (): Promise<boolean> => {
      const { rows } = await platform.pool.query<{ status: string }>(`SELECT status FROM tasks WHERE model = 'alone'`);
      return rows[0]?.status === 'completed';
    };
    expect(await waitUntil(isDone, WAIT)).toBe(true);
    expect(await waitUntil(async () => (await provider('first')).breaker === 'closed', WAIT)).toBe(true);
    expect(await expectEqualNumbers()).toMatchObject({ 'first theirs succeeded': 1 });
    // The failure stays known.
    expect((await provider('first')).last_hour).toMatchObject({ failing: 0, last_failure: { status: 500 } });
    expect(await ada.ask('/providers/first/try', { method: 'POST' })).toEqual({ paused: false, waiting: 0 });
    expect((await ada.call('/providers/none/try', { method: 'POST' })).status).toBe(404);
    const { data } = await ada.ask<{ data: { action: string; target: string }[] }>('/audit');
    expect(data.filter(({ action }) => action === 'provider.tried')).toMatchObject([{ target: 'first' }]);
  });

  it('tells rejected requests and rate limits from other failures', async () => {
    const total = async (): Promise<object> => (await provider('first')).last_hour.total;
    const before = (await provider('first')).last_hour.total;
    first.script(apiError(400, { code: 'moderation_blocked', message: 'No.' }));
    expect(await generate('alone')).toBe(400);
    first.script(apiError(429, { message: 'Slow down.' }, { 'retry-after': '1' }));
    expect(await generate('both')).toBe(200);
    await expectEqualNumbers();
    expect(await total()).toMatchObject({ rejected: 1, rate_limited: 1, failed: before.failed + 1 });
  });

  it('counts chats where the API passes them on', async () => {
    const body = { model: 'talk', messages: [{ role: 'user', content: 'hello' }] };
    second.script(apiError(503, { message: 'Busy with: hello' }));
    const answer = await platform.call('/v1/chat/completions', { body });
    await answer.text();
    expect(answer.status).toBe(503);
    const ofChats = async () => (await provider('second')).last_hour.models.find(({ model }) => model === 'talk');
    await waitUntil(async () => (await ofChats()) !== undefined, WAIT);
    expect(await ofChats()).toMatchObject({ calls: 1, failed: 1 });
    const failure = { status: 503, message: 'The provider failed (503).', provider_message: null };
    expect((await provider('second')).last_hour.last_failure).toMatchObject(failure);
  });

  it('tests a paused provider at once, and a success ends its pause', async () => {
    first.script(apiError(500));
    const isOpen = async (): Promise<boolean> => {
      await generate('both');
      return (await provider('first')).breaker === 'open';
    };
    second.script(image(await plainImage(1024, 1024)));
    expect(await waitUntil(isOpen, WAIT)).toBe(true);
    first.script(image(await plainImage(1024, 1024)));
    const { task_id: id } = await ada.ask<{ task_id: string }>('/providers/first/test', { body: { model: 'alone' } });
    const isOver = async (): Promise<boolean> =>
      (await ada.ask<{ status: string }>(`/tasks/${id}`)).status !== 'pending';
    expect(await waitUntil(isOver, WAIT)).toBe(true);
    expect(await ada.ask(`/tasks/${id}`)).toMatchObject({ status: 'completed' });
    expect(await waitUntil(async () => (await provider('first')).breaker === 'closed', WAIT)).toBe(true);
    expect(await waitUntil(async () => (await provider('first')).last_hour.failing === 0, WAIT)).toBe(true);
  });
});
