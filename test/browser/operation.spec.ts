import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Locator } from 'playwright-core';
import type { EmbeddedService } from '#embedded/postgres.js';
import { startRedis } from '#embedded/redis.js';
import { waitUntil } from '#embedded/wait-until.js';
import { becomes, openPage, openScreen, type Screen } from '../support/chromium.js';
import { linkToken, PASSWORD, signInInvited } from '../support/console.js';
import { insertFailed } from '../support/failed-task.js';
import { freePort } from '../support/free-port.js';
import { plainImage } from '../support/image-provider-suite.js';
import { patient } from '../support/patience.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { startWorker, type TestProcess } from '../support/processes.js';
import { apiError, image, json, startUpstream, type ScriptedUpstream } from '../support/scripted-upstream.js';

const NAME = '<img src=x onerror="alert(1)"><script>alert(2)</script>';
/** Within the 30 days in which operators are warned. */
const SOON = new Date(Date.now() + 10 * 86_400_000).toISOString().slice(0, 10);
const MODELS = `
currency: USD
providers:
  house: { type: sandbox, limits: { concurrency: 4, starts_per_minute: 600 } }
  broken: { type: openai, base_url: "http://127.0.0.1:9/v1", keys: [{ name: team, env: KEY_OF_TEAM }] }
models:
  gpt-image-2:
    kind: image
    routes: [{ provider: house }, { provider: broken }]
    prices: [{ from: 2026-01-01, per_image: { 1k: 0.02, 2k: 0.04, 4k: 0.16 } }]
  small-image: { kind: image, routes: [{ provider: broken }] }
  draft: { kind: image, shutdown_date: ${SOON}, successors: [small-image], routes: [{ provider: house }] }
`;

describe('providers and queue in a browser', () => {
  let folder: string;
  let redis: EmbeddedService;
  let platform: Platform;
  let second: TestProcess;
  let upstream: ScriptedUpstream;
  let screen: Screen;
  const page = (): Screen['page'] => screen.page;
  const button = (name: string | RegExp, exact = true) => page().getByRole('button', { name, exact });
  const card = (name: string) => page().getByRole('article', { name });
  const dialog = () => page().getByRole('dialog');
  const kind = (text: string) => page().locator('.failure-kind', { hasText: text });

  /** An answer takes the focus there in its own time. */
  const focused = (element: Locator) => element.and(page().locator(':focus')).waitFor();

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-operation-'));
    await writeFile(join(folder, 'models.yaml'), MODELS);
    redis = await startRedis({
      folder: join(folder, 'redis'),
      password: 'operation',
      log: join(folder, 'redis.log'),
      port: await freePort(),
      toolFolders: [resolve('node_modules', '.cache', 'darkroom')],
    });
    platform = await startPlatform({
      REDIS_URL: redis.url,
      REDIS_PREFIX: '{operation}',
      MODELS_FILE: join(folder, 'models.yaml'),
      KEY_OF_TEAM: 'sk-canary',
      PROVIDER_FAILURES: '3',
      PROVIDER_PAUSE_MS: '60000',
    });
    second = await startWorker({ ...platform.settings, WORKER_CONCURRENCY: '3' });
    upstream = await startUpstream();
    upstream.script(image(await plainImage(1024, 1024)));
    screen = await openScreen(platform.url);
  });
  afterAll(async () => {
    await screen.close();
    await second.stop();
    await platform.close();
    await redis.stop();
    await upstream.close();
    await rm(folder, { recursive: true, force: true });
  });
  // Whatever was said elsewhere stays text: nothing of it ran, no policy was broken.
  afterEach(async () => {
    expect(screen.troubles).toEqual([]);
    expect(await page().locator('img[src="x"], main script').count()).toBe(0);
  });

  it('is in the menu of operators', async () => {
    await page().goto(`/console/first-run#token=${await linkToken(platform, { purpose: 'first_admin' })}`);
    await page().getByLabel('Your name').fill('Ada Lovelace');
    await page().getByLabel('Email').fill('ada@example.org');
    await page().getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await button('Create account').click();
    await page().getByText('Installation').waitFor();
    await openPage(page(), 'Status and queue');
    await card('house').getByText('Healthy').waitFor();
    await page().getByText('2 workers').waitFor();
    await page().getByText('No failed tasks in this period').waitFor();
    // The chart keeps its tooltip while the page gets narrower.
    await page()
      .locator('.recharts-wrapper')
      .hover({ position: { x: 900, y: 60 } });
    await page().locator('.recharts-tooltip-wrapper').getByText('Completed').waitFor();
    expect(await screen.inspect('operation')).toEqual([]);
    // On a phone, no cell of the workers is cut off.
    await page().setViewportSize({ width: 390, height: 844 });
    const isWhole = `[...document.querySelectorAll('main td')].every((cell) => cell.getBoundingClientRect().right <= innerWidth)`;
    expect(await waitUntil(() => page().evaluate<boolean>(isWhole), { timeoutMs: 30_000 })).toBe(true);
    await page().setViewportSize({ width: 1280, height: 860 });
  });

  it('drains a provider after asking, and says why it is drained', async () => {
    await button('Drain house').click();
    await dialog().getByLabel('Reason').fill(NAME);
    expect(await screen.inspect('operation-drain')).toEqual([]);
    await button('Drain provider').click();
    await card('house').getByText('Drained', { exact: true }).waitFor();
    await card('house').getByText(`${NAME} (by ada@example.org in the console)`, { exact: false }).waitFor();
    expect(await screen.inspect('operation-drained')).toEqual([]);
  });

  it('tests it while it is drained, after saying what that costs, and resumes it', async () => {
    await button('Test house').click();
    await dialog().getByText('It costs $0.02, charged to your account.').waitFor();
    await dialog().getByText('although it is drained').waitFor();
    await button('Generate test image').click();
    await dialog().getByRole('img', { name: 'Test image' }).waitFor();
    await dialog().getByText('Cost $0.02').waitFor();
    expect(await screen.inspect('operation-test')).toEqual([]);
    await dialog().getByRole('link', { name: 'Open task' }).click();
    // Of the task's timeline; the dialog says "Cost".
    await page()
      .getByText(/cost \$0\.02/)
      .waitFor();
    // It is no image of the playground's, and its task says whose it is.
    await page().getByRole('definition').getByText('Provider test', { exact: true }).waitFor();
    await page().goBack();
    await button('Resume house').click();
    await card('house').getByText('Healthy').waitFor();
  });

  it('shows how a test fails, and that the provider rests after that', async () => {
    await button('Test broken').click();
    await dialog().getByRole('combobox', { name: 'Model' }).click();
    await page().getByRole('option', { name: 'small-image' }).click();
    await dialog().getByText('the cost is not recorded because this model has no price').waitFor();
    await button('Generate test image').click();
    await dialog()
      .getByText('No image: the provider failed')
      .waitFor({ timeout: patient(60_000) });
    // Behind the dialog, before anything that takes longer than the provider rests.
    const hidden = page().getByRole('article', { name: 'broken', includeHidden: true });
    await hidden.getByText('Unavailable').waitFor();
    await dialog().getByText('upstream_error').waitFor();
    await dialog().getByText('Called http://127.0.0.1:9/v1/images/generations').waitFor();
    expect(await dialog().getByText('need /v1').count()).toBe(0);
    await dialog().getByRole('button', { name: 'Try again' }).waitFor();
    expect(await screen.inspect('operation-test-failed')).toEqual([]);
    await button('Close').click();
    // Counted above, so listed below.
    await page().getByText('Failed (1 hour)').locator('..').getByText('1', { exact: true }).waitFor();
    await kind('small-image').getByText('Provider test. Use Test to run it again.').waitFor();
    await button(/^The provider failed · broken/).click();
    await kind('small-image').getByRole('cell').getByRole('link').waitFor();
    expect(await kind('small-image').getByRole('checkbox').count()).toBe(0);
    expect(await screen.inspect('operation-resting')).toEqual([]);
  });

  it('lists what failed, and retries one, several and all of it', async () => {
    const accountId = await platform.newAccount();
    await platform.pool.query('UPDATE accounts SET name = $2 WHERE id = $1', [accountId, NAME]);
    await platform.newKey({ name: 'theirs', revoked_at: new Date() }, accountId);
    const { rows } = await platform.pool.query<{ id: string }>(`SELECT id FROM api_keys WHERE name = 'theirs'`);
    await platform.pool.query('UPDATE api_keys SET name = $2 WHERE id = $1', [rows[0]!.id, NAME]);
    const own: string[] = [];
    for (let n = 0; n < 24; n++) own.unshift(await insertFailed(platform));
    const theirs = { account_id: accountId, api_key_id: rows[0]!.id, message: NAME, code: 'storage_error' as const };
    const foreign = await insertFailed(platform, theirs);
    await insertFailed(platform, { code: 'moderation_blocked', provider: null });
    await page().reload();
    await kind('moderation_blocked').getByText('would reject it again').waitFor();
    expect(await kind('moderation_blocked').getByRole('button', { name: 'Retry' }).count()).toBe(0);
    await button(/^The image could not be stored/).click();
    await page().getByText(foreign).waitFor();
    await button(/^The provider failed · house/).click();
    await page().getByText(own[0]!).waitFor();
    expect(await screen.inspect('operation-failures')).toEqual([]);
    await button('Show more').click();
    await page().getByText(own[23]!).waitFor();
    for (const id of own.slice(0, 2))
      await page()
        .getByRole('checkbox', { name: `Select ${id}` })
        .check();
    await button('Retry 2 selected').click();
    expect(await screen.inspect('operation-retry')).toEqual([]);
    await button('Retry').click();
    await dialog().getByText('2 tasks retried').waitFor();
    await button('Close').first().click();
    await page().getByText('24 tasks, 2 retried').waitFor();
    await page().getByText('retried as').first().waitFor();
    await button('Retry all 22: The provider failed · gpt-image-2').click();
    await button('Retry').click();
    await dialog().getByText('22 tasks retried').waitFor();
    await button('Close').first().click();
    // The reason is said first and its code after it; where nothing is left to choose, there is no column for it.
    await kind('gpt-image-2').getByText('upstream_error · 24 tasks, 24 retried').waitFor();
    const heads = kind('gpt-image-2').filter({ hasText: 'upstream_error' }).getByRole('columnheader');
    expect(
      await waitUntil(async () => !(await heads.allTextContents()).includes('Select'), { timeoutMs: 30_000 }),
    ).toBe(true);
    expect(await heads.first().textContent()).toBe('Task');
    await button('Retry: The image could not be stored · gpt-image-2').click();
    await button('Retry').click();
    await dialog().getByText('1 × Its key is revoked or has expired.').waitFor();
    expect(await screen.inspect('operation-retry-refused')).toEqual([]);
    await button('Close').first().click();
    const { rows: retries } = await platform.pool.query(
      'SELECT count(*)::int AS count FROM tasks WHERE retry_of IS NOT NULL',
    );
    expect(retries).toEqual([{ count: 24 }]);
    await page().getByRole('link', { name: own[0]! }).click();
    await page().getByText('Retried as', { exact: true }).waitFor();
    await page().getByRole('alert').getByText('Retried as').getByRole('link').waitFor();
    expect(await screen.inspect('operation-retried-task')).toEqual([]);
    await page().getByRole('link', { name: 'View retry' }).click();
    await page().getByText('Retry of', { exact: true }).waitFor();
    const retry = page().url();
    await page().goBack();
    await page().goBack();
    // So does the list of tasks.
    await openPage(page(), 'Tasks');
    const again = page()
      .getByRole('row')
      .filter({ has: page().locator(`a[href$="${own[0]!}"]`) });
    await again.getByRole('link', { name: 'Retried' }).waitFor();
    expect(await screen.inspect('tasks-retried')).toEqual([]);
    await again.getByRole('link', { name: 'Retried' }).click();
    await page().waitForURL(retry);
    await page().goto('/console/operation');
  });

  it('connects a provider and serves a model with it, without an editor', async () => {
    await openPage(page(), 'Providers and models');
    const row = (name: string) => page().getByRole('row', { name: new RegExp(`^${name}`) });
    await row('house').getByText('models.yaml').waitFor();
    await row('draft').getByText('Free', { exact: true }).waitFor();
    await row('small-image').getByText('No price', { exact: true }).waitFor();
    expect(await screen.inspect('catalog')).toEqual([]);
    // On a phone, a model is a card that says its routes and price, too.
    await page().setViewportSize({ width: 390, height: 844 });
    const card = page().getByRole('region', { name: 'Models' }).getByRole('row').filter({ hasText: 'gpt-image-2' });
    await card.getByText('$0.02–$0.16 per image').waitFor();
    await card.getByText('house, broken').waitFor();
    await page().setViewportSize({ width: 1280, height: 860 });
    await button('Actions for house').click();
    await becomes(() => page().getByRole('menuitem').allTextContents(), ['View as JSON']);
    await page().keyboard.press('Escape');

    await button('Add provider').click();
    const name = dialog().getByRole('textbox', { name: 'Name', exact: true });
    await dialog().getByText('Letters, digits, and these characters: . _ : -').waitFor();
    await name.fill('our server');
    await dialog().getByRole('button', { name: 'Add provider' }).click();
    await dialog().getByText('Use only letters, digits, and these characters: . _ : -').waitFor();
    await focused(name);
    await name.fill('house');
    await dialog().getByText('The provider “house” is in models.yaml').waitFor();
    await name.fill('local');
    await dialog().getByLabel('Base URL').fill('http://user:secret@local');
    await dialog().getByRole('textbox', { name: 'API key' }).fill('sk-canary-browser');
    await dialog().getByRole('button', { name: 'Show API key' }).waitFor();
    await dialog().getByRole('button', { name: 'OpenAI-compatible options' }).click();
    await dialog().getByLabel('Total timeout (ms)').fill('60000');
    await dialog().getByRole('button', { name: 'Add provider' }).click();
    await dialog()
      .getByText('Enter a URL that begins with https:// or http://, without a user name, a query, or a fragment.')
      .waitFor();
    expect(await dialog().getByRole('alert').count()).toBe(0);
    await focused(dialog().getByLabel('Base URL'));
    expect(await screen.inspect('catalog-provider')).toEqual([]);
    // What was entered stays, whatever is pressed.
    await page().keyboard.press('Escape');
    await page().mouse.click(5, 5);
    await dialog().getByLabel('Base URL').fill(upstream.url);
    // Before anything is saved, its address and key are tried for free.
    const said = (text: RegExp) => dialog().getByRole('status').getByText(text);
    const check = dialog().getByRole('button', { name: 'Check connection' });
    upstream.script(apiError(401), json({ data: [{ id: 'their-model' }, { id: 'small' }] }));
    await check.click();
    await said(/^The server is reachable, but rejected the key \(401\)/).waitFor();
    expect(await screen.inspect('catalog-provider-refused')).toEqual([]);
    await focused(check);
    await dialog().getByRole('textbox', { name: 'API key' }).fill('sk-canary-another');
    await said(/rejected the key/).waitFor({ state: 'detached' });
    await check.click();
    await said(/^Connected: the server lists 2 models: small, their-model\.$/).waitFor();
    expect(await screen.inspect('catalog-provider-connected')).toEqual([]);
    await dialog().getByRole('textbox', { name: 'API key' }).fill('sk-canary-browser');
    await dialog().getByRole('button', { name: 'Add provider' }).click();
    await row('local').getByText(upstream.url).waitFor();
    await page().getByRole('status').getByText('Provider “local” added').waitFor();
    expect(await screen.inspect('catalog-provider-added')).toEqual([]);

    await button('Add a model for it').click();
    expect(await dialog().getByRole('combobox', { name: 'Provider of route 1' }).inputValue()).toBe('local');
    await dialog().getByText('The provider’s name for it, such as gpt-image-1').waitFor();
    await name.fill('small-image');
    await dialog().getByText('The model “small-image” is in models.yaml').waitFor();
    // Refused by a message that belongs to a field which may be out of sight.
    await dialog().getByRole('button', { name: 'Add model' }).click();
    await dialog().getByRole('alert').getByText('This name is in models.yaml').waitFor();
    await focused(name);
    await name.fill('vivid');
    // Its stored key gets the list of its models, which are suggested.
    const checks = upstream.calls.length;
    const modelId = dialog().getByLabel('Model ID of route 1');
    upstream.script(json({ data: [{ id: 'their-model' }, { id: 'small' }] }));
    await modelId.fill('their');
    await page().getByRole('option', { name: 'their-model' }).click();
    await page().getByRole('option').waitFor({ state: 'detached' });
    expect(await modelId.inputValue()).toBe('their-model');
    expect(
      upstream.calls.slice(checks).map(({ method, path, headers }) => [method, path, headers.authorization]),
    ).toEqual([['GET', '/v1/models', 'Bearer sk-canary-browser']]);
    upstream.script(image(await plainImage(1024, 1024)));
    await button('Add route').click();
    await dialog().getByRole('combobox', { name: 'Provider of route 2' }).click();
    await page().getByRole('option', { name: 'house' }).click();
    await button('Move route 2 up').click();
    expect(await dialog().getByRole('combobox', { name: 'Provider of route 1' }).inputValue()).toBe('house');
    await button('Move route 1 down').click();
    const first = dialog().getByRole('combobox', { name: 'Provider of route 1' });
    const handle = (nth: number) => button(`Drag route ${nth}, or move it with the arrow keys`);
    await handle(2).press('ArrowUp');
    expect(await first.inputValue()).toBe('house');
    // Held by the pointer, and let go below the other one.
    const middle = async (nth: number) => {
      const { x, y, width, height } = (await handle(nth).boundingBox())!;
      return { x: x + width / 2, y: y + height / 2 };
    };
    const from = await middle(1);
    const to = await middle(2);
    await page().mouse.move(from.x, from.y);
    await page().mouse.down();
    await page().mouse.move(to.x, to.y + 30, { steps: 4 });
    // The page has seen how far it was moved.
    await dialog().locator('.route[data-mark=after]').waitFor();
    await page().mouse.up();
    expect(await first.inputValue()).toBe('local');
    await button('Add price').click();
    // A date is not cut off, and what saves the form is in sight however long it is.
    expect((await dialog().getByLabel('From (UTC)').boundingBox())!.width).toBeGreaterThan(140);
    const save = (await dialog().getByRole('button', { name: 'Add model' }).boundingBox())!;
    expect(save.y + save.height).toBeLessThanOrEqual(860);
    // An image needs a price only if its tokens have none.
    const isRequired = async (label: string) =>
      (await dialog().getByRole('textbox', { name: label, exact: true }).getAttribute('required')) !== null;
    const written = dialog().getByRole('textbox', { name: 'Image output', exact: true });
    expect([await isRequired('1K image'), await isRequired('Text input')]).toEqual([true, false]);
    await written.fill('30');
    expect([await isRequired('1K image'), await isRequired('Text input')]).toEqual([false, true]);
    await written.fill('');
    for (const tier of ['1K', '2K', '4K']) await dialog().getByLabel(`${tier} image`).fill('auto 0.05, high 0.2');
    await button('Capabilities').first().click();
    expect(await screen.inspect('catalog-model')).toEqual([]);
    await dialog().getByRole('button', { name: 'Add model' }).click();
    await row('vivid').getByText('local, house').waitFor();
    await row('vivid').getByText('$0.05–$0.20 per image').waitFor();
    await page().getByText('Provider “local” added').waitFor({ state: 'detached' });
    await button('Add model').click();
    await name.fill('vivid');
    await dialog().getByText('This replaces the model “vivid” that is already in the list.').waitFor();
    await button('Cancel').click();

    await button('Test local').click();
    await dialog().getByText('It costs $0.05').waitFor();
    expect(upstream.calls).toHaveLength(checks + 1);
    await button('Generate test image').click();
    await dialog().getByRole('img', { name: 'Test image' }).waitFor();
    await button('Close').click();
    const body = { model: 'vivid', prompt: 'a pear', resolution: '1k' };
    const answer = await platform.call('/v1/images/generations', { body });
    await answer.text();
    expect([answer.status, upstream.calls.slice(checks + 1).map(({ headers }) => headers.authorization)]).toEqual([
      ...[200, Array(2).fill('Bearer sk-canary-browser')],
    ]);
  });

  it('changes what it added without the key, and undoes that', async () => {
    const row = (name: string) => page().getByRole('row', { name: new RegExp(`^${name}`) });
    await button('Actions for local').click();
    await page().getByRole('menuitem', { name: 'Edit' }).click();
    await dialog().locator(':focus').waitFor();
    expect(await dialog().getByRole('textbox', { name: 'API key' }).inputValue()).toBe('');
    // The name cannot be changed, and can be read.
    await dialog().getByRole('textbox', { name: 'Name', exact: true, disabled: true }).waitFor();
    const opacity = `getComputedStyle(document.querySelector('[role=dialog] input:disabled')).opacity`;
    expect(await page().evaluate<string>(opacity)).toBe('1');
    const base = dialog().getByLabel('Base URL');
    const again = dialog().getByRole('status').filter({ hasText: 'Enter the API keys again' });
    expect(await again.count()).toBe(0);
    await base.fill(new URL(upstream.url).origin);
    await dialog().getByText('Most OpenAI-compatible servers need /v1').waitFor();
    await again.waitFor();
    expect(await screen.inspect('catalog-provider-moved')).toEqual([]);
    await button('Save').click();
    await dialog().getByText('Enter the keys again').first().waitFor();
    // The keys are no field, so the reason has the focus.
    await focused(dialog().getByRole('alert').locator('..'));
    await base.fill(upstream.url);
    await again.waitFor({ state: 'detached' });
    await button('Limits and charges').click();
    await dialog().getByLabel('Concurrent calls').fill('2');
    await button('Save').click();
    const history = page().getByRole('region', { name: 'History' });
    await history.getByText('changed the provider “local”').waitFor();
    await button('Actions for vivid').click();
    await page().getByRole('menuitem', { name: 'Remove' }).click();
    await dialog().getByRole('button', { name: 'Remove' }).click();
    await row('vivid').waitFor({ state: 'detached' });
    expect(await screen.inspect('catalog-history')).toEqual([]);
    await button('Undo last change').click();
    await dialog()
      .getByText(/go back to version \d+\./)
      .waitFor();
    await dialog().getByRole('button', { name: 'Undo' }).click();
    await row('vivid').getByText('local, house').waitFor();
    expect(await page().content()).not.toContain('canary');
    await page().goto('/console/audit');
    await page().getByText('undid the last change of providers and models').waitFor();
    await page().goto('/console/operation');
  });

  it('says where a failed test went, and that the provider fails before it is left alone', async () => {
    await page().goto('/console/catalog');
    await button('Actions for local').click();
    await page().getByRole('menuitem', { name: 'Edit' }).click();
    await dialog().getByLabel('Base URL').fill(new URL(upstream.url).origin);
    await dialog().getByRole('textbox', { name: 'API key' }).fill('sk-canary-browser');
    await button('Save').click();
    await dialog().waitFor({ state: 'detached' });
    upstream.script(apiError(404, { message: 'The model does not exist.' }));
    await page().goto('/console/operation');
    await card('local').getByText('Healthy').waitFor();
    await button('Test local').click();
    await button('Generate test image').click();
    await dialog().getByText('does not offer this model or call (404)').waitFor();
    await dialog().getByText('The provider said: The model does not exist.').waitFor();
    await dialog()
      .getByText(`Called ${upstream.url.replace('/v1', '')}/images/generations`)
      .waitFor();
    await dialog().getByText('Most OpenAI-compatible servers need /v1').waitFor();
    expect(upstream.calls.at(-1)?.path).toBe('/images/generations');
    await button('Close').click();
    await card('local').getByText('Failing', { exact: true }).waitFor();
    await card('local').getByText('The last call failed').waitFor();
    expect(await screen.inspect('operation-failing')).toEqual([]);
    upstream.script(image(await plainImage(1024, 1024)));
    await button('Test local').click();
    await button('Generate test image').click();
    await dialog().getByRole('img', { name: 'Test image' }).waitFor();
    await dialog().getByRole('button', { name: 'Generate another' }).waitFor();
    await button('Close').click();
    await card('local').getByText('Healthy').waitFor();
  });

  it('is no page of members, and tells them so', async () => {
    const member = await signInInvited(platform, { email: 'mo@example.org', role: 'member' });
    const context = page().context();
    const mine = await context.cookies();
    const notices = page().getByRole('region', { name: 'Needs attention' });
    // The others that failed were retried, or would be refused again.
    await insertFailed(platform);
    const failed = notices.getByRole('link', { name: /^[1-9] tasks? failed today \(UTC\) and can be retried\./ });
    await page().goto('/console/');
    await failed.waitFor();
    await notices.getByRole('link', { name: `The model draft ends on ${SOON}. Use small-image.` }).waitFor();
    await context.addCookies(mine.map((cookie) => ({ ...cookie, value: member.cookie!.split('=')[1]! })));
    // The overview says whose figures these are, and asks nobody to attend to tasks that they can't see.
    await page().goto('/console/');
    await page().getByText('Everyone’s requests in this account').waitFor();
    await notices.getByText('Nothing needs attention.').waitFor();
    expect(await failed.count()).toBe(0);
    expect(await screen.inspect('overview-member')).toEqual([]);
    await page().goto('/console/operation');
    await page().getByText('Operators only').waitFor();
    expect(await page().getByText('Installation', { exact: true }).count()).toBe(0);
    expect(await screen.inspect('operation-member')).toEqual([]);
    await page().goto('/console/catalog');
    await page().getByText('Operators only').waitFor();
    await context.addCookies(mine);
  });

  it('says so when there are more failures than it counts', async () => {
    await page().goto('/console/operation');
    const bound = page().getByText('Counts only the newest 5,000 failures.');
    await page().getByText('1 task, latest').first().waitFor();
    expect(await bound.count()).toBe(0);
    await platform.pool.query(
      `INSERT INTO tasks SELECT (json_populate_record(tasks, json_build_object('id', 'task_many_' || number))).*
         FROM tasks, generate_series(1, 5000) AS number WHERE id = $1`,
      [await insertFailed(platform)],
    );
    await page().reload();
    await bound.waitFor();
  });

  it('says so when no worker is there, and when Redis is away', async () => {
    await Promise.all([second.stop(), platform.worker.stop()]);
    await page().goto('/console/operation');
    await page().getByText('No workers running').waitFor();
    expect(await screen.inspect('operation-no-worker')).toEqual([]);
    await redis.stop();
    await page().getByText('Could not load the queue').waitFor();
    await page().getByText('Redis is not responding right now.').first().waitFor();
    expect(await screen.inspect('operation-no-redis')).toEqual([]);
  });
});
