import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { waitUntil } from '#embedded/wait-until.js';
import { becomes, giveSession, openScreen, type Screen } from '../support/chromium.js';
import { signInFirstAdmin, type Browser } from '../support/console.js';
import { insertFailed } from '../support/failed-task.js';
import { patient } from '../support/patience.js';
import { startPlatform, type Platform } from '../support/platform.js';

const HOSTILE = '"><img src=x onerror="alert(1)">';

/** Lists with small images, with images that are gone, and with more tasks than one search looks at. */
describe('images in the console’s lists', () => {
  let platform: Platform;
  let screen: Screen;
  let ada: Browser;
  const page = (): Screen['page'] => screen.page;
  const open = async (path: string): Promise<void> => {
    await page().goto(`/console${path}`);
    await page().waitForLoadState('networkidle');
  };

  beforeAll(async () => {
    platform = await startPlatform();
    ada = await signInFirstAdmin(platform);
    screen = await openScreen(platform.url);
    await giveSession(screen, ada.cookie);
    for (const prompt of ['kept', 'missing', 'expired'])
      await ada.ask('/images', { body: { model: 'gpt-image-2', prompt: `${prompt} ${HOSTILE}`, resolution: '1k' } });
    await ada.ask('/images', { body: { model: 'gpt-image-2', prompt: 'refused [[fault=moderation]]' } });
    const ended = async (): Promise<boolean> =>
      (await platform.pool.query(`SELECT 1 FROM tasks WHERE status = 'pending'`)).rowCount === 0;
    expect(await waitUntil(ended, { timeoutMs: 30_000 })).toBe(true);
  });
  afterAll(async () => {
    await screen.close();
    await platform.close();
  });
  afterEach(async () => {
    expect(screen.troubles).toEqual([]);
    expect(await page().locator('img[src="x"]').count()).toBe(0);
  });

  const idOf = async (prompt: string): Promise<string> => {
    const { rows } = await platform.pool.query<{ id: string }>('SELECT id FROM tasks WHERE prompt LIKE $1', [
      `${prompt}%`,
    ]);
    return rows[0]!.id;
  };
  const widths = `Promise.all([...document.querySelectorAll('main img')].map(async (image) => {
    await image.decode(); return image.naturalWidth }))`;

  it('are small copies, created at the first look, and fetched once however often the list refreshes itself', async () => {
    const results = join(platform.settings['DATA_DIR']!, 'objects', 'results');
    expect((await readdir(results)).filter((name) => name.includes('.thumb.'))).toEqual([]);
    const shown = () => page().locator('main img').nth(2).waitFor();
    const stored = async () => (await readdir(results)).filter((name) => name.includes('.thumb.')).length;
    const look = async (): Promise<unknown> => {
      await open('/tasks');
      await shown();
      return await page().evaluate(widths);
    };
    // Where the worker takes longer than a page waits, the first look shows the images themselves.
    await becomes(look, Array(3).fill(320));
    expect(await stored()).toBe(3);
    const fetched: string[] = [];
    page().on('request', (request) => {
      if (request.url().includes('/i/')) fetched.push(new URL(request.url()).pathname);
    });
    await look();
    const refreshed = () => page().waitForResponse((response) => response.url().includes('/tasks?limit'));
    await refreshed();
    await refreshed();
    expect(fetched).toHaveLength(3);
    await open('/playground');
    await shown();
    expect(await page().evaluate(widths)).toEqual(Array(3).fill(320));
    expect(fetched).toHaveLength(6);
    expect(fetched.filter((path) => !path.endsWith('.thumb.webp'))).toEqual([]);
  });

  it('leave a place with a word when they are gone', async () => {
    const missing = await idOf('missing');
    const expired = await idOf('expired');
    for (const name of [`${missing}-1.png`, `${missing}-1.thumb.webp`])
      await rm(join(platform.settings['DATA_DIR']!, 'objects', 'results', name));
    await platform.pool.query(`UPDATE tasks SET objects_deleted_at = '2026-11-20T12:00:00Z' WHERE id = $1`, [expired]);
    // Links of one second are the same, and what was fetched by them is kept.
    await (await page().context().newCDPSession(page())).send('Network.clearBrowserCache');
    await open('/tasks');
    await page().getByText('Missing', { exact: true }).waitFor();
    await page().getByText('Expired', { exact: true }).waitFor();
    await becomes(() => page().evaluate(widths), [320]);
    expect(await screen.inspect('tasks-images-gone')).toEqual([]);
    await open('/playground');
    await page().getByText('Missing', { exact: true }).waitFor();
    expect(await screen.inspect('playground-images-gone')).toEqual([]);
    await open(`/tasks/${missing}`);
    await page().getByText('This image is no longer available.').waitFor();
    expect(await screen.inspect('task-image-missing')).toEqual([]);
    await open(`/tasks/${expired}`);
    await page().getByText('Image deleted on 20 Nov 2026').waitFor();
    expect(await page().getByRole('link', { name: 'Download' }).count()).toBe(0);
    expect(await screen.inspect('task-image-deleted')).toEqual([]);
  });

  it('say how far back a search has looked, and look further', async () => {
    await platform.pool.query(
      `INSERT INTO tasks (id, account_id, api_key_id, request_id, action, model, prompt, options, status, finished_at, created_at, deadline_at)
       SELECT 'task_' || lpad(n::text, 26, '0'), 'acct_default', 'key', 'req_' || n, 'generation', 'gpt-image-2',
         CASE n WHEN 25000 THEN 'an old needle' ELSE 'hay' END, '{"size":"1:1","resolution":"1k","outputFormat":"png"}',
         'failed', now(), '2026-05-05T06:00:00Z'::timestamptz - n * interval '1 second', now()
       FROM generate_series(1, 26000) AS n`,
    );
    await open('/tasks?text=needle');
    await page().getByText('No matches so far').waitFor();
    await page().getByText('Searched back to 5 May 2026 (UTC)').waitFor();
    expect(await screen.inspect('tasks-searched')).toEqual([]);
    const needle = page().getByRole('link', { name: 'an old needle' });
    const older = page().getByRole('button', { name: 'Search older tasks' });
    // Each search ends after some time, too: a busy database examines fewer tasks in it.
    const isFound = async (): Promise<boolean> => {
      if ((await needle.count()) > 0 && (await page().getByText('Searched back to').count()) === 0) return true;
      await older.click({ timeout: patient(2_000) }).catch(() => undefined);
      return false;
    };
    expect(await waitUntil(isFound, { timeoutMs: 120_000 })).toBe(true);
    await open(`/tasks?text=${await idOf('kept')}`);
    await page()
      .getByRole('link', { name: `kept ${HOSTILE}` })
      .waitFor();
  });

  it('name their models, and say which filters leave nothing', async () => {
    const row = page().getByRole('row').filter({ hasText: 'kept' });
    await open('/tasks');
    await page().getByRole('columnheader', { name: 'Model', exact: true }).waitFor();
    await row.getByRole('cell', { name: 'gpt-image-2', exact: true }).waitFor();
    expect(await page().getByRole('combobox', { name: 'Time range' }).getAttribute('placeholder')).toBe('Any time');
    await open('/tasks?status=failed&model=none&from=2026-01-01T00:00:00Z');
    await page().getByText('No task matches your filters: status, model, and time range.').waitFor();
    await open('/tasks?model=none');
    await page().getByText('No task matches your filter: model. Change or clear it').waitFor();
    // Nothing of the page is cut off, with all columns.
    await open('/tasks');
    await row.waitFor();
    const isWhole = `(() => { const table = document.querySelector('table'); return table.offsetWidth <= table.parentElement.parentElement.clientWidth })()`;
    await becomes(() => page().evaluate<boolean>(isWhole), true);
  });

  it('fit on a phone: filters behind a button that counts them, headings below the header', async () => {
    const filters = page().getByRole('button', { name: /^Filters/ });
    const status = page().getByRole('combobox', { name: 'Status' });
    await open('/tasks?text=kept&status=completed&from=2026-01-01T00:00:00Z&to=2126-01-01T00:00:00Z');
    await status.waitFor();
    expect(await filters.isVisible()).toBe(false);
    await page().setViewportSize({ width: 390, height: 844 });
    await status.waitFor({ state: 'hidden' });
    await page().getByRole('row').filter({ hasText: 'kept' }).getByText('gpt-image-2').first().waitFor();
    expect(await filters.textContent()).toBe('Filters (2)');
    await filters.click();
    await status.waitFor();
    expect(await screen.inspect('tasks-filters')).toEqual([]);
    await page().setViewportSize({ width: 390, height: 844 });
    await open('/usage');
    const title = page().getByRole('region', { name: 'Images' }).getByRole('heading');
    await title.waitFor();
    // At once, because what loads later moves it.
    const isBelow = `(() => {
      const heading = document.querySelector('[aria-label="Images"] h2');
      heading.scrollIntoView();
      return heading.getBoundingClientRect().top >= document.querySelector('header').getBoundingClientRect().bottom;
    })()`;
    await becomes(() => page().evaluate<boolean>(isBelow), true);
    await page().setViewportSize({ width: 1280, height: 860 });
    await open(`/tasks/${await idOf('kept')}`);
    const button = page().getByRole('link', { name: 'Download' });
    const name = page().getByRole('heading', { level: 1 });
    await button.waitFor();
    const isBeside = async () => {
      const [one, other] = [await button.boundingBox(), await name.boundingBox()];
      return one!.y < other!.y + other!.height;
    };
    await becomes(isBeside, true);
    // An id is on one line, also where there is little room.
    const lines = `(() => { const range = document.createRange();
      range.selectNodeContents([...document.querySelectorAll('dd code')].at(-1));
      return new Set([...range.getClientRects()].map(({ top }) => top)).size })()`;
    for (const width of [1280, 1000, 390]) {
      await page().setViewportSize({ width, height: 860 });
      await becomes(async () => [width, await page().evaluate<number>(lines)], [width, 1]);
    }
    await page().setViewportSize({ width: 1280, height: 860 });
  });

  it('say of each cost whether it is free, known or unknown, and of each sum what it leaves out', async () => {
    const at = new Date();
    const call = { n: 1, provider: 'house', key: '', model: 'm', outcome: 'succeeded', charged: 'yes', free: false };
    const completed = { status: 'completed', error: null, calls: [{ ...call, startedAt: at, endedAt: at }] };
    const ids: Record<string, string> = {};
    for (const [model, reserved] of Object.entries({ 'model-of-four': 40_000, 'model-without-price': null })) {
      const tokenCosts = { output: { tokens: 1_000, amount: 30_000 }, input: { tokens: 2_000, amount: 10_000 } };
      const cost = { reserved, settled: reserved, currency: 'USD', ...(reserved !== null && { tokenCosts }) };
      ids[model] = await insertFailed(platform, { ...completed, model, prompt: `by ${model}`, cost });
    }
    ids['free'] = await insertFailed(platform, { ...completed, model: 'model-for-free', prompt: 'by model-for-free' });
    const region = (name: string) => page().getByRole('region', { name, exact: true });
    const row = (text: string) => page().getByRole('row').filter({ hasText: text });
    const left = '1 image without a price';
    const sum = `$0.04+ ${left}`;
    await open('/tasks');
    await row('by model-of-four').getByRole('cell', { name: '$0.04' }).waitFor();
    await row('by model-for-free').getByRole('cell', { name: 'Free', exact: true }).waitFor();
    await row('by model-without-price').getByTitle('No price is set for this model').getByText('Unknown').waitFor();
    await insertFailed(platform, { model: 'model-without-price', prompt: 'to be retried by model-without-price' });
    await open('/tasks?status=failed&model=model-without-price');
    await page().getByRole('button', { name: 'Bulk actions' }).click();
    await page().getByRole('menuitem', { name: 'Retry failed tasks' }).click();
    await page().getByText('Cost unknown: no price is set for its model.').waitFor();
    await page()
      .getByRole('listitem')
      .filter({ hasText: /^to be retried by model-without-price *Cost unknown$/ })
      .waitFor();
    expect(await screen.inspect('tasks-retry-unpriced')).toEqual([]);
    await page().getByRole('button', { name: 'Don’t retry' }).click();
    await open(`/tasks/${ids['free']}`);
    await page().getByRole('definition').getByText('Free', { exact: true }).waitFor();
    await page()
      .getByText(/ · free$/)
      .waitFor();
    await open(`/tasks/${ids['model-of-four']}`);
    await page()
      .getByText(/Cost\s*\$0\.04\s*Text input\s*2,000 tokens, \$0\.01\s*Image output\s*1,000 tokens, \$0\.03/)
      .first()
      .waitFor();
    expect(await screen.inspect('task-by-tokens')).toEqual([]);
    await open(`/tasks/${ids['model-without-price']}`);
    await page()
      .getByText(/ · cost unknown$/)
      .waitFor();
    const cost = page()
      .getByRole('definition')
      .filter({ hasText: /^No price set$/ });
    expect(await screen.inspect('task-unpriced')).toEqual([]);
    await cost.getByRole('link').click();
    await page().getByRole('heading', { name: 'Providers and models', level: 1 }).waitFor();
    await open('/');
    await region('Today, in UTC').getByText(sum).waitFor();
    expect(await screen.inspect('overview-unpriced')).toEqual([]);
    await open('/keys');
    await row('e2e').getByRole('cell').filter({ hasText: sum }).waitFor();
    await open('/usage');
    const cells = async (name: string) => await row(name).getByRole('cell').allTextContents();
    await region('Totals').getByRole('row').filter({ hasText: 'model-without-price' }).waitFor();
    expect(await cells('model-of-four')).toContain('$0.04');
    expect(await cells('model-for-free')).toContain('$0.00');
    expect(await cells('model-without-price')).toContain(`Unknown${left}`);
    expect(await cells('Total')).toContain(sum);
    await region('Spend').getByText(`Not including ${left}`).waitFor();
    await region('Budgets').getByRole('cell').filter({ hasText: sum }).waitFor();
    expect(await screen.inspect('usage-unpriced')).toEqual([]);
    await open('/usage?model=model-without-price');
    await region('Spend').getByText(`Unknown: ${left}`).waitFor();
    await platform.pool.query(`DELETE FROM tasks WHERE model LIKE 'model-%'`);
  });
});
