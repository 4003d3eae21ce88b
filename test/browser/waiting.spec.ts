import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from '#embedded/wait-until.js';
import { becomes, giveSession, openScreen, type Screen } from '../support/chromium.js';
import { Browser, signInFirstAdmin } from '../support/console.js';
import { plainImage } from '../support/image-provider-suite.js';
import { patient } from '../support/patience.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { startApi } from '../support/processes.js';
import { apiError, image, startUpstream, type Script, type ScriptedUpstream } from '../support/scripted-upstream.js';

interface Queue {
  readonly waiting: number;
  readonly running: number;
  readonly oldest_waiting_seconds: number;
  readonly waiting_for: readonly { readonly reason: object; readonly count: number; readonly oldest_seconds: number }[];
}

const DRAINED = 'Waiting for studio: drained by an operator';
const UNAVAILABLE = /Waiting for studio: unavailable, next try in \d+ s/;

describe('waiting tasks say why in a browser', () => {
  let folder: string;
  let platform: Platform;
  let upstream: ScriptedUpstream;
  let ada: Browser;
  let screen: Screen;
  let bytes: Buffer;
  const page = (): Screen['page'] => screen.page;
  const button = (name: string | RegExp) => page().getByRole('button', { name });
  const result = () => page().getByRole('group', { name: 'Result' });
  const figure = (name: string) => page().getByText(name, { exact: true }).locator('..');
  const reasons = () => page().getByRole('region', { name: 'Waiting tasks' });
  const open = (path: string) => page().goto(`/console${path}`);
  const generate = async (prompt: string): Promise<void> => {
    await page().getByLabel('Prompt').fill(prompt);
    await button(/^Generate/).click();
  };
  /** A task of an API key. */
  const submit = async (prompt: string): Promise<string> => {
    const body = { model: 'gpt-image-2', prompt, resolution: '1k' };
    return (await platform.call('/v1/images/generations/async', { body })).headers.get('x-task-id')!;
  };
  const has = async (where: string): Promise<boolean> =>
    ((await platform.pool.query(`SELECT FROM tasks WHERE ${where}`)).rowCount ?? 0) > 0;
  /** A task that a worker has put back because its provider takes no call: processes learn of a drain in their own time. */
  const submitHeld = async (prompt: string): Promise<void> => {
    for (;;) {
      const id = await submit(prompt);
      await isSo(() => has(`id = '${id}' AND (waits > 0 OR status <> 'pending')`));
      if (await has(`id = '${id}' AND status = 'pending'`)) return;
    }
  };
  const rows = async () =>
    (
      await platform.pool.query<{ id: string; prompt: string; phase: string }>(
        `SELECT id, prompt, phase FROM tasks WHERE status = 'pending' ORDER BY created_at`,
      )
    ).rows;
  const isSo = async (holds: () => Promise<boolean>) =>
    expect(await waitUntil(holds, { timeoutMs: 30_000 })).toBe(true);
  /** Every page counts the same tasks as waiting. */
  const agree = async (count: number): Promise<void> => {
    // At one moment: a worker may be trying one of them.
    const counts = async () => [
      (await rows()).filter(({ phase }) => phase === 'queued').length,
      (await ada.ask<{ count: number }>('/tasks/count?status=waiting')).count,
      (await ada.ask<Queue>('/queue')).waiting,
    ];
    await becomes(counts, [count, count, count]);
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-waiting-'));
    upstream = await startUpstream();
    bytes = await plainImage(1024, 1024);
    upstream.script(image(bytes));
    const models = `
currency: USD
providers:
  studio: { type: openai, base_url: "${upstream.url}", keys: [{ name: team, env: KEY_OF_TEAM }], limits: { concurrency: 1 } }
models:
  gpt-image-2:
    kind: image
    routes: [{ provider: studio }]
    prices: [{ from: 2026-01-01, per_image: { 1k: 0.02, 2k: 0.04, 4k: 0.16 } }]
`;
    await writeFile(join(folder, 'models.yaml'), models);
    platform = await startPlatform({
      MODELS_FILE: join(folder, 'models.yaml'),
      KEY_OF_TEAM: 'sk-canary',
      EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
      HEALTH_CHECK_INTERVAL_MS: '500',
      PROVIDER_FAILURES: '1',
      PROVIDER_PAUSE_MS: '60000',
      // However often the provider is tried until the last test, its task still waits.
      MAX_PROVIDER_STARTS: '9',
    });
    ada = await signInFirstAdmin(platform);
    screen = await openScreen(platform.url);
    await giveSession(screen, ada.cookie);
  });
  afterAll(async () => {
    await screen.close();
    await platform.close();
    await upstream.close();
    await rm(folder, { recursive: true, force: true });
  });
  afterEach(() => expect(screen.troubles).toEqual([]));

  it('promises a time while the provider takes calls, and none when an operator has paused it', async () => {
    await open('/playground');
    await generate('A measured boat');
    await page().getByRole('img', { name: 'A measured boat' }).waitFor();
    await page().getByLabel('Prompt').fill('A boat that waits');
    await button(/about \d+ s$/).waitFor({ timeout: patient(60_000) });
    await open('/operation');
    await button('Drain studio').click();
    await button('Drain provider').click();
    await page().getByText('Drained', { exact: true }).waitFor();
    await open('/playground');
    await page().getByLabel('Prompt').fill('A boat that waits');
    await page().getByText('Your image will wait for studio: drained by an operator.').waitFor();
    await button(/^Generate\s*\$0\.0\d$/).waitFor();
    expect(await screen.inspect('waiting-quote')).toEqual([]);
  });

  it('says in the playground why it waits, at which position, and for how long', async () => {
    await submitHeld('An earlier boat');
    await generate('A boat that waits');
    await result()
      .getByText(new RegExp(`^${DRAINED} · position 2 · waited \\d+ s$`))
      .waitFor();
    // Said once, without the clock.
    await result().getByRole('status').getByText(DRAINED, { exact: true }).waitFor();
    expect(
      await result()
        .getByText(/about|left/)
        .count(),
    ).toBe(0);
    expect(await screen.inspect('waiting-playground')).toEqual([]);
  });

  it('says the same on the task’s page, in the list of tasks, in Status, and counts the same', async () => {
    const { id } = (await rows()).find(({ prompt }) => prompt === 'A boat that waits')!;
    await open(`/tasks/${id}`);
    await page()
      .getByText(new RegExp(`^${DRAINED} · position 2 · waited`))
      .waitFor();
    await page().getByRole('definition').getByText('Waiting', { exact: true }).waitFor();
    expect(await screen.inspect('waiting-task')).toEqual([]);
    await open('/tasks?status=waiting');
    await page().getByText('2 tasks', { exact: true }).waitFor();
    await becomes(() => page().getByRole('cell').getByText(DRAINED, { exact: true }).count(), 2);
    expect(await page().getByText('Queued').count()).toBe(0);
    expect(await screen.inspect('waiting-tasks')).toEqual([]);
    await open('/operation');
    await figure('Waiting').getByText('2', { exact: true }).waitFor();
    await reasons()
      .getByRole('row', { name: new RegExp(`^${DRAINED}\\s*2`) })
      .waitFor();
    expect(await screen.inspect('waiting-status')).toEqual([]);
    await agree(2);
    // Another API answers the same.
    const other = await startApi(platform.settings);
    const there = new Browser(other.url);
    there.cookie = ada.cookie;
    const reasonsOf = async (browser: Browser) =>
      (await browser.ask<Queue>('/queue')).waiting_for.map(({ reason, count }) => ({ reason, count }));
    await isSo(async () => JSON.stringify(await reasonsOf(there)) === JSON.stringify(await reasonsOf(ada)));
    expect(await reasonsOf(there)).toEqual([
      { reason: { for: 'provider', provider: 'studio', why: 'drained', next_try_at: null, limit: null }, count: 2 },
    ]);
    await other.stop();
  });

  it('says in the alert how many wait, for how long and why, and that workers don’t help', async () => {
    await platform.pool.query(
      `UPDATE tasks SET created_at = created_at - interval '200 seconds' WHERE status = 'pending'`,
    );
    await ada.ask('/alerts/rules/queue_wait', {
      method: 'PUT',
      body: { enabled: true, thresholds: [60], hold_minutes: 0 },
    });
    await open('/alerts');
    const firing = page().getByRole('region', { name: 'Firing now' });
    await firing
      .getByText(
        /^2 tasks are waiting; the oldest has waited \d+ minutes\..* 2 are waiting for studio: drained by an operator\. .*More workers don’t help/,
      )
      .waitFor({ timeout: patient(60_000) });
    await ada.ask('/alerts/rules/queue_wait', { method: 'PUT', body: { enabled: false } });
    await open('/');
    await page()
      .getByText(/^2 tasks are waiting, the oldest for \d+ min \d+ s\. Waiting for studio: drained by an operator\.$/)
      .waitFor();
  });

  it('says that all calls are in use when the provider goes on, and then nothing waits', async () => {
    const finish: (() => void)[] = [];
    const slowly: Script = async (call, response) => {
      await new Promise<void>((done) => finish.push(done));
      await image(bytes)(call, response);
    };
    upstream.script(slowly);
    await ada.call('/providers/studio/resume', { method: 'POST' });
    await open('/tasks?status=waiting');
    // A list that was read while the first call began says it of both tasks.
    await page().getByRole('cell').getByText('Waiting for studio: 1 of 1 calls in use').first().waitFor();
    await page().getByText('1 task', { exact: true }).waitFor();
    await agree(1);
    await becomes(async () => (await ada.ask<Queue>('/queue')).running, 1);
    await isSo(async () => {
      finish.shift()?.();
      return (await rows()).length === 0;
    });
    await open('/operation');
    await figure('Waiting').getByText('0', { exact: true }).waitFor();
    await reasons().waitFor({ state: 'detached' });
    await agree(0);
  });

  it('shows where the time of a task went, as bars and as text, and the same split in Usage', async () => {
    const { rows: ended } = await platform.pool.query<{ id: string; storing: number }>(
      `SELECT id, (calls -> 0 ->> 'storingMs')::int AS storing FROM tasks WHERE prompt = 'A boat that waits'`,
    );
    expect(ended).toEqual([{ id: expect.any(String), storing: expect.any(Number) }]);
    await open(`/tasks/${ended[0]!.id}`);
    const bars = page().getByRole('list', { name: 'Time' });
    await bars
      .getByRole('listitem')
      .filter({ hasText: /^Waiting\s*\d+ min/ })
      .waitFor();
    await bars
      .getByRole('listitem')
      .filter({ hasText: /^studio\s*\d/ })
      .waitFor();
    await bars
      .getByRole('listitem')
      .filter({ hasText: /^Saving\s*\d+/ })
      .waitFor();
    // To scale: together as wide as their track.
    const widths = `[...document.querySelectorAll('.time-bar')].reduce((sum, bar) => sum + parseFloat(bar.style.width), 0)`;
    await becomes(async () => Math.round(await page().evaluate<number>(widths)), 100);
    expect(await screen.inspect('task-bars')).toEqual([]);
    await open('/usage');
    const split = page().getByRole('region', { name: 'Latency by part' });
    const { rowCount: completed } = await platform.pool.query(`SELECT FROM tasks WHERE status = 'completed'`);
    await split.getByText(`${completed} tasks completed in this period`).waitFor();
    await split.getByRole('row', { name: /^Waiting\s*\d+ min/ }).waitFor();
    await split.getByRole('row', { name: /^Provider\s*\d/ }).waitFor();
    expect(await screen.inspect('usage-latency')).toEqual([]);
  });

  it('says until when a failing provider is unavailable, after what its last attempt was', async () => {
    upstream.script(apiError(500));
    await open('/playground');
    await generate('A boat in a storm');
    await result()
      .getByText(
        /^Attempt 1 of \d failed: studio returned 500\. Waiting for studio: unavailable, next try in \d+ s · position 1/,
      )
      .waitFor();
    await open('/operation');
    await reasons().getByText(UNAVAILABLE).waitFor();
    await agree(1);
    await open('/tasks');
    await page().getByRole('cell').getByText(UNAVAILABLE).waitFor();
  });

  it('says that no worker is there', async () => {
    await platform.worker.stop();
    await open('/playground');
    await page().getByLabel('Prompt').fill('A boat on land');
    await page().getByText('Your image will wait for a worker.').waitFor();
    await generate('A boat on land');
    await result()
      .getByText(/^Waiting for a worker · position 2 · waited \d+ s$/)
      .waitFor();
    await open('/operation');
    await reasons()
      .getByRole('row', { name: /^Waiting for a worker\s*2/ })
      .waitFor();
    await agree(2);
  });
});
