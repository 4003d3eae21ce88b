import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Locator } from 'playwright-core';
import { waitUntil } from '#embedded/wait-until.js';
import { giveSession, openScreen, type Screen } from '../support/chromium.js';
import { signInFirstAdmin, type Browser } from '../support/console.js';
import { plainImage } from '../support/image-provider-suite.js';
import { patient } from '../support/patience.js';
import type { Platform } from '../support/platform.js';
import { startWorker, type TestProcess } from '../support/processes.js';
import { apiError, image, startUpstream, type ScriptedUpstream } from '../support/scripted-upstream.js';
import { startWebhookPlatform, type WebhookPlatform } from '../support/webhook-platform.js';

const SLOW = { timeout: patient(60_000) };
const HOOK = '/hooks/orders';
const SAID = 'The studio burned down.';

const plural = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

/** One incident after the other, and at each step every page tells what the rows have. */
describe('an incident in the console', () => {
  let folder: string;
  let room: WebhookPlatform;
  let platform: Platform;
  let upstream: ScriptedUpstream;
  let ada: Browser;
  let screen: Screen;
  let bytes: Buffer;
  let second: TestProcess | undefined;
  const page = (): Screen['page'] => screen.page;
  const button = (name: string | RegExp) => page().getByRole('button', { name });
  const region = (name: string) => page().getByRole('region', { name });
  const card = () => page().getByRole('article', { name: 'studio' });
  const figure = (name: string) => page().getByText(name, { exact: true }).locator('..');
  const open = (path: string) => page().goto(`/console${path}`);
  const submit = async (prompt: string): Promise<string> => {
    const body = { model: 'gpt-image-2', prompt, resolution: '1k' };
    const answer = await platform.call('/v1/images/generations/async', { body });
    expect(answer.status).toBe(202);
    return answer.headers.get('x-task-id')!;
  };
  const count = async (what: string): Promise<number> =>
    (await platform.pool.query<{ n: number }>(`SELECT (${what})::int AS n`)).rows[0]!.n;
  const waiting = () => count(`SELECT count(*) FROM tasks WHERE status = 'pending' AND phase = 'queued'`);
  /** A task that a worker has put back because its provider takes no call: processes learn of a drain in their own time. */
  const submitHeld = async (prompt: string): Promise<string> => {
    for (;;) {
      const id = await submit(prompt);
      const isHeld = async () => (await count(`SELECT count(*) FROM tasks WHERE id = '${id}' AND waits > 0`)) === 1;
      const isDone = async () =>
        (await count(`SELECT count(*) FROM tasks WHERE id = '${id}' AND status = 'completed'`)) === 1;
      await isSo(async () => (await isHeld()) || (await isDone()));
      if (!(await isDone())) return id;
    }
  };
  const tasks = () => count('SELECT count(*) FROM tasks');
  const allCompleted = () => isSo(async () => (await completed()) === (await tasks()));
  const completed = () => count(`SELECT count(*) FROM tasks WHERE status = 'completed'`);
  const isSo = async (holds: () => Promise<boolean>) =>
    expect(await waitUntil(holds, { timeoutMs: 60_000 })).toBe(true);

  /** Status, the list of tasks and the overview tell what the rows and the provider itself have, at one moment. */
  async function agree(state: string): Promise<void> {
    const now = async () => {
      const [ended, rows] = [await completed(), await waiting()];
      const calls = upstream.calls.length;
      const figures = `Last hour: ${plural(calls, 'call')}, ${calls - ended} failed`;
      return { figures, waits: rows, waitingTasks: rows === 0 ? 'No matching tasks' : plural(rows, 'task'), ended };
    };
    const shows = (find: (expected: Awaited<ReturnType<typeof now>>) => Locator) =>
      isSo(async () => (await find(await now()).count()) > 0);
    await open('/operation');
    await shows(({ figures }) =>
      card()
        .filter({ hasText: state })
        .filter({ hasText: new RegExp(`${figures}[,.]`) }),
    );
    await shows(({ waits }) => figure('Waiting').getByText(String(waits), { exact: true }));
    await open('/tasks?status=waiting');
    await shows(({ waitingTasks }) => page().getByText(waitingTasks, { exact: true }));
    await open('/tasks?status=completed');
    await shows(({ ended }) => page().getByText(plural(ended, 'task'), { exact: true }));
    await open('/');
    const overview = region('Image providers').getByRole('region', { name: 'studio', exact: true });
    await shows(({ figures }) => {
      const strip = page().getByRole('img', { name: new RegExp(`^studio, by minute\\. ${figures}[,.]`) });
      return overview.filter({ hasText: state }).filter({ has: strip });
    });
  }
  const notice = (text: string | RegExp) => region('Needs attention').getByText(text);
  const firing = (text: string | RegExp) => region('Firing now').getByText(text).first().waitFor(SLOW);

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-incident-'));
    upstream = await startUpstream();
    bytes = await plainImage(1024, 1024);
    upstream.script(image(bytes));
    const models = `
currency: USD
providers:
  studio: { type: openai, base_url: "${upstream.url}", keys: [{ env: KEY_OF_STUDIO }] }
models:
  gpt-image-2:
    kind: image
    routes: [{ provider: studio }]
    prices: [{ from: 2026-01-01, per_image: { 1k: 0.02, 2k: 0.04, 4k: 0.16 } }]
`;
    await writeFile(join(folder, 'models.yaml'), models);
    room = await startWebhookPlatform({
      MODELS_FILE: join(folder, 'models.yaml'),
      KEY_OF_STUDIO: 'sk-canary',
      WEBHOOK_RETRY_SECONDS: '600',
      WEBHOOK_TIMEOUT_MS: '60000',
      HEALTH_CHECK_INTERVAL_MS: '500',
      PROVIDER_FAILURES: '1',
      PROVIDER_PAUSE_MS: '60000',
      // However often the provider is tried before an operator does, no task fails for good.
      MAX_PROVIDER_STARTS: '10',
    });
    ({ platform } = room);
    ada = await signInFirstAdmin(platform);
    const endpoint = { url: room.receiver.url(HOOK), events: ['image.task.completed'] };
    await ada.ask('/webhooks/endpoints', { method: 'POST', body: endpoint });
    for (const rule of ['provider_down', 'webhook_failing'])
      await ada.ask(`/alerts/rules/${rule}`, { method: 'PUT', body: { enabled: true, hold_minutes: 0 } });
    screen = await openScreen(platform.url);
    await giveSession(screen, ada.cookie);
  });
  afterAll(async () => {
    await screen.close();
    await second?.stop();
    await room.close();
    await upstream.close();
    await rm(folder, { recursive: true, force: true });
  });
  afterEach(() => expect(screen.troubles).toEqual([]));

  it('begins with two images, and nothing that needs attention', async () => {
    for (const prompt of ['A quiet harbor', 'A quiet street']) await submit(prompt);
    await allCompleted();
    await agree('Healthy');
    await page().getByText('Nothing needs attention').waitFor(SLOW);
    await open('/webhooks');
    await page().getByText('2 of 2 delivered').waitFor(SLOW);
  });

  it('says that the provider fails, in its own words, why tasks wait, and that it is down', async () => {
    upstream.script(apiError(500, { message: SAID }));
    const first = await submit('A storm');
    await isSo(async () => upstream.calls.length >= 3 && (await waiting()) === 1);
    for (const prompt of ['A second storm', 'A third storm']) await submit(prompt);
    await isSo(async () => (await waiting()) === 3);
    await agree('Unavailable');
    // Once, although two things know of it.
    await notice('Provider “studio” is down.').waitFor(SLOW);
    await notice(/^studio: /).waitFor({ state: 'detached' });
    await open('/operation');
    await card()
      .getByText(new RegExp(`The provider said: ${SAID}$`))
      .waitFor(SLOW);
    const row = region('Waiting tasks').getByRole('row', {
      name: /^Waiting for studio: unavailable, next try (in \d+ s|soon)\s*3/,
    });
    await row.waitFor(SLOW);
    await open(`/tasks/${first}`);
    await page()
      .getByText(/Waiting for studio: unavailable, next try (in \d+ s|soon) · position 1/)
      .waitFor(SLOW);
    await open('/alerts');
    await firing('Provider “studio” is down');
  });

  it('goes on when the provider does, once an operator tries it', async () => {
    // A worker's own next try is answered after the click: else nothing might be left for an operator to try.
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    upstream.script(async (call, response) => {
      await released;
      await image(bytes)(call, response);
    });
    await open('/operation');
    await button('Try now: studio').click(SLOW);
    release();
    await allCompleted();
    await agree('Healthy');
    await notice(/^studio: (unavailable|recovering)/).waitFor({ state: 'detached' });
    expect(await count(`SELECT sum(jsonb_array_length(calls)) FROM tasks`)).toBe(upstream.calls.length);
  });

  it('says that a drained provider is drained, not failing', async () => {
    await open('/operation');
    await button('Drain studio').click(SLOW);
    await button('Drain provider').click(SLOW);
    await page().getByText('Drained', { exact: true }).waitFor(SLOW);
    const id = await submitHeld('A calm sea');
    await agree('Drained');
    await notice('studio is drained and gets no requests.').waitFor(SLOW);
    await open(`/tasks/${id}`);
    await page()
      .getByText(/^Waiting for studio: drained by an operator · position 1 · waited/)
      .waitFor(SLOW);
    await open('/operation');
    await button('Resume studio').click(SLOW);
    await allCompleted();
    await agree('Healthy');
  });

  it('says since when a webhook endpoint fails and how many deliveries, until all are resent', async () => {
    const before = await tasks();
    await room.receiver.arrived(HOOK, before);
    room.receiver.answer(HOOK, 500);
    await submit('A harbor nobody hears of');
    await room.receiver.arrived(HOOK, before + 1);
    const failed = `1 of ${before + 1} deliveries failed in 24 hours`;
    await open('/webhooks');
    const endpoint = region('Endpoints').getByRole('row').nth(1);
    await endpoint.getByText(/^Failing since \d+:\d+/).waitFor(SLOW);
    await endpoint.getByText(failed).waitFor(SLOW);
    await open('/');
    await notice(/^Webhook endpoint .* is failing\.$/).waitFor(SLOW);
    await open('/alerts');
    await firing(/is failing$/);
    room.receiver.answer(HOOK, 200);
    await open('/webhooks');
    await button(/^Resend all failed deliveries to /).click(SLOW);
    await page().getByRole('button', { name: 'Resend all', exact: true }).click(SLOW);
    await room.receiver.arrived(HOOK, before + 2);
    await endpoint.getByText(`${before + 1} of ${before + 1} delivered`).waitFor(SLOW);
  });

  it('says that no worker runs, and that a new one takes what waited', async () => {
    await platform.worker.stop();
    const id = await submit('A harbor without hands');
    await open('/');
    await notice('No worker is running, so tasks wait for one.').waitFor(SLOW);
    await agree('Healthy');
    await open(`/tasks/${id}`);
    await page()
      .getByText(/^Waiting for a worker · position 1 · waited/)
      .waitFor(SLOW);
    second = await startWorker(platform.settings);
    await allCompleted();
    await agree('Healthy');
    await notice(/^No worker is running/).waitFor({ state: 'detached' });
  });

  it('says that a key is used up, and how many of its calls were refused', async () => {
    const before = await tasks();
    const { id, key } = await platform.newKeyWithId({ name: 'Spent' });
    await platform.pool.query(
      `INSERT INTO budgets (owner_id, owner, limit_micros, period, spent_micros, period_start)
       VALUES ($1, 'key', 1000000, 'total', 990000, date_trunc('month', now()))`,
      [id],
    );
    const body = { model: 'gpt-image-2', prompt: 'One more', resolution: '1k' };
    for (let n = 0; n < 3; n++)
      expect((await platform.call('/v1/images/generations/async', { key, body })).status).toBe(402);
    await open('/keys');
    const row = page().getByRole('row').filter({ hasText: 'Spent' });
    await row.getByText('Used up').waitFor(SLOW);
    await row.getByRole('link', { name: '3 refused calls of Spent' }).waitFor(SLOW);
    await open('/');
    await notice('Key Spent has used up its budget: its calls are refused. Raise the budget.').waitFor(SLOW);
    await open('/tasks/refused');
    await page().getByText('3 calls refused').waitFor(SLOW);
    expect(await tasks()).toBe(before);
  });
});
