import { readFile } from 'node:fs/promises';
import OpenAI from 'openai';
import sharp from 'sharp';
import { waitUntil } from '#embedded/wait-until.js';
import { becomes, FOREIGN_NAME, openPage, openScreen, type Screen } from '../support/chromium.js';
import { linkToken, PASSWORD } from '../support/console.js';
import { insertFailed } from '../support/failed-task.js';
import { patient } from '../support/patience.js';
import { startPlatform, type Platform } from '../support/platform.js';

const NAME = '<img src=x onerror="alert(1)"><script>alert(2)</script>';
const PROMPT = 'A lighthouse <svg onload=alert(3)> {{constructor}} "><script>alert(4)</script>';

describe('the console in a browser', () => {
  let platform: Platform;
  let screen: Screen;
  let secret: string;
  const page = (): Screen['page'] => screen.page;
  const open = async (path: string): Promise<void> => {
    await page().goto(`/console${path}`);
    await page().waitForLoadState('networkidle');
  };
  const button = (name: string | RegExp) => page().getByRole('button', { name });
  const heading = (name: string) => page().getByRole('heading', { name, level: 1 });

  beforeAll(async () => {
    platform = await startPlatform();
    // The console begins without keys.
    await platform.pool.query('DELETE FROM api_keys');
    screen = await openScreen(platform.url);
  });
  afterAll(async () => {
    await screen.close();
    await platform.close();
  });
  // Whatever was typed stays text: nothing of it ran, no policy was broken.
  afterEach(async () => {
    expect(screen.troubles).toEqual([]);
    expect(await page().locator('img[src="x"], main script').count()).toBe(0);
  });

  it('makes the first admin by the one-time link, which leaves the address bar', async () => {
    await open('/');
    await heading('Almost there').waitFor();
    expect(await screen.inspect('waiting')).toEqual([]);
    await open(`/first-run#token=${await linkToken(platform, { purpose: 'first_admin' })}`);
    await page().waitForURL(`${platform.url}/console/first-run`);
    expect(await screen.inspect('first-run')).toEqual([]);
    expect(await page().evaluate<string | null>(`document.activeElement.getAttribute('autocomplete')`)).toBe('name');
    await page().getByLabel('Your name').fill('Ada Lovelace');
    await page().getByLabel('Email').fill('ada@example.org');
    await page().getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await button('Create account').click();
    await heading('Overview').waitFor();
    expect(page().url()).toBe(`${platform.url}/console/`);
    await openPage(page(), 'Keys');
    await page().getByText('No keys yet').waitFor();
    expect(await screen.inspect('keys-empty')).toEqual([]);
  });

  it('leads from the address of the API to the overview, whose steps turn green as they are done', async () => {
    // The steps are there with the figures, and push nothing down, however late the keys are.
    await page().addInitScript(`window.shifted = 0; new PerformanceObserver((list) => {
      for (const { value } of list.getEntries()) window.shifted += value;
    }).observe({ type: 'layout-shift', buffered: true });`);
    const figures = page().waitForResponse(/\/console\/api\/usage\?/);
    await page().route('**/console/api/keys', async (route) => {
      await (await figures).finished();
      await page().evaluate(`new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))`);
      await route.continue();
    });
    await page().goto('/');
    await heading('Overview').waitFor();
    const step = (name: string) => page().getByRole('listitem').filter({ hasText: name });
    await page().getByText('Nothing needs attention.').waitFor();
    await page().unroute('**/console/api/keys');
    expect(await page().evaluate<number>('shifted')).toBeLessThan(0.1);
    await step('Connect a provider').getByText('Until then, the sandbox answers').waitFor();
    expect(await screen.inspect('overview-first')).toEqual([]);
    await step('Create a key').getByRole('button', { name: 'Create key' }).click();
    await page().getByRole('textbox', { name: 'Name' }).fill('first');
    await page().getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
    const secret = (await page().getByTestId('secret').textContent())!;
    await button('I’ve saved it').click();
    await step('Create a key').getByText('done').waitFor();
    expect(await step('Make the first call').getByRole('tabpanel').textContent()).toContain(`Bearer ${secret}`);
    expect(await screen.inspect('overview-key')).toEqual([]);
    const client = new OpenAI({ baseURL: `${platform.url}/v1`, apiKey: secret, maxRetries: 0 });
    await client.images.generate({ model: 'gpt-image-2', prompt: 'A first picture', size: '1024x1024' });
    await step('Make the first call').getByText('done').waitFor();
    await page().getByLabel('Today, in UTC').getByText('1', { exact: true }).waitFor();
    expect(await screen.inspect('overview')).toEqual([]);
    // What was done before is no news, and what fails is.
    await platform.pool.query(`UPDATE api_keys SET expires_at = now() + interval '2 days' WHERE name = 'first'`);
    await open('/');
    await page().getByText('Key first expires').waitFor();
    await step('Connect a provider').waitFor();
    // Done on another page: that is seen here until it is hidden.
    const catalog = async (method: 'PUT' | 'DELETE', path: string, revision: number, entry?: object) => {
      const url = `/console/api/catalog/${path}${method === 'DELETE' ? `?revision=${revision}` : ''}`;
      const answer = await page().request.fetch(url, {
        method,
        headers: { origin: platform.url, 'x-darkroom-csrf': '1' },
        ...(entry && { data: { revision, entry } }),
      });
      expect(answer.status()).toBe(200);
      return ((await answer.json()) as { revision: number }).revision;
    };
    const provider = { type: 'openai', base_url: 'http://127.0.0.1:9/v1' };
    const added = await catalog('PUT', 'providers/own', 0, provider);
    const model = { kind: 'image', routes: [{ provider: 'own' }] };
    const used = await catalog('PUT', 'models/gpt-image-2', added, model);
    await open('/');
    await page().getByRole('heading', { name: 'You’re set up' }).waitFor();
    await step('Connect a provider').getByText('done').waitFor();
    expect(await screen.inspect('overview-set-up')).toEqual([]);
    await page().getByRole('button', { name: 'Hide' }).click();
    await step('Connect a provider').waitFor({ state: 'detached' });
    await catalog('DELETE', 'providers/own', await catalog('DELETE', 'models/gpt-image-2', used));
    await open('/');
    await page().getByText('Nothing needs attention.').or(page().getByText('Key first expires')).waitFor();
    expect(await step('Connect a provider').count()).toBe(0);
    await platform.pool.query(`DELETE FROM api_keys WHERE name = 'first'`);
  });

  it('loads less than 300 KB of scripts and its own font before the overview is there', async () => {
    const devtools = await page().context().newCDPSession(page());
    await devtools.send('DOM.enable');
    await devtools.send('CSS.enable');
    const usesOwnFont = async () => {
      await page().goto('about:blank');
      await open('/');
      await heading('Overview').waitFor();
      const { root } = await devtools.send('DOM.getDocument');
      const { nodeId } = await devtools.send('DOM.querySelector', { nodeId: root.nodeId, selector: 'h1' });
      const { fonts } = await devtools.send('CSS.getPlatformFontsForNode', { nodeId });
      return fonts.every(({ isCustomFont }) => isCustomFont);
    };
    // A font that came too late for the first text is there for the next page.
    expect(await waitUntil(usesOwnFont, { timeoutMs: 60_000 })).toBe(true);
    await devtools.detach();
    expect(await page().evaluate<boolean>(`document.fonts.check('16px "Inter Variable"')`)).toBe(true);
    const loaded = await page().evaluate<{ name: string; encodedBodySize: number }[]>(
      `performance.getEntriesByType('resource').filter(({ name }) => /\\.(js|woff2)$/.test(name)).map((entry) => entry.toJSON())`,
    );
    const fonts = loaded.filter(({ name }) => name.endsWith('.woff2')).map(({ name }) => name);
    expect(fonts).toEqual([expect.stringContaining(`${platform.url}/console/assets/inter-latin-`)]);
    const { headers } = await fetch(fonts[0]!, { signal: AbortSignal.timeout(patient(10_000)) });
    expect([headers.get('content-type'), headers.get('cache-control')]).toEqual([
      ...['font/woff2', 'public, max-age=31536000, immutable'],
    ]);
    const bytes = loaded.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0);
    expect(bytes).toBeGreaterThan(50_000);
    expect(bytes).toBeLessThan(300_000);
  });

  it('shows the menu where there is no page, and a way on', async () => {
    await open('/no/such/page');
    await page().getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Keys' }).waitFor();
    expect(await screen.inspect('not-found')).toEqual([]);
    await page().getByRole('link', { name: 'Go to overview' }).click();
    await heading('Overview').waitFor();
    await openPage(page(), 'Keys');
  });

  it('signs out and in again, and says when the password is wrong', async () => {
    const errors: string[] = [];
    const listen = (message: { type(): string; text(): string }) => {
      if (message.type() === 'error') errors.push(message.text());
    };
    // What the page reads again by itself just as its session ends would be refused: it is given up with the page.
    let isOut = false;
    const hear = (response: { url(): string }) => {
      isOut ||= response.url().endsWith('/console/api/sign-out');
    };
    page().on('response', hear);
    const isOfConsole = /\/console\/api\//;
    await page().route(isOfConsole, async (route) => {
      if (isOut || route.request().method() !== 'GET') await route.continue();
    });
    page().on('console', listen);
    await button('Sign out').click();
    await heading('Sign in').waitFor();
    await page().waitForLoadState('networkidle');
    page().off('console', listen);
    page().off('response', hear);
    await page().unroute(isOfConsole);
    expect(errors).toEqual([]);
    // A page that was wanted before is where the sign-in leads.
    await open('/tasks?status=failed');
    await heading('Sign in').waitFor();
    await page().getByLabel('Email').fill('ada@example.org');
    await page().getByRole('textbox', { name: 'Password' }).fill('wrong wrong wrong');
    await button('Sign in').click();
    await page().getByRole('alert').getByText('Incorrect email or password.').waitFor();
    expect(await screen.inspect('sign-in')).toEqual([]);
    await page().getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await page().keyboard.press('Enter');
    await heading('Tasks').waitFor();
    await page().waitForURL(`${platform.url}/console/tasks?status=failed`);
    await page().getByRole('link', { name: 'Ada Lovelace' }).click();
    await page().getByText('this session').waitFor();
    expect(await screen.inspect('account')).toEqual([]);
    await openPage(page(), 'Keys');
  });

  it('makes a key whose secret works with the OpenAI client at once', async () => {
    await button('Create key').first().click();
    await page().getByRole('textbox', { name: 'Name' }).fill(NAME);
    expect(await screen.inspect('key-form')).toEqual([]);
    await button('Create key').last().click();
    secret = (await page().getByTestId('secret').textContent())!;
    expect(secret).toMatch(/^sk-\S{20,}$/);
    expect(await page().getByRole('tabpanel').textContent()).toContain(`Bearer ${secret}`);
    expect(await screen.inspect('key-secret')).toEqual([]);
    // The API reference is given the key, and keeps it nowhere.
    const [reference] = await Promise.all([
      page().context().waitForEvent('page'),
      button('Try it in the API reference').click(),
    ]);
    await reference.getByText('Your new key is filled in.').waitFor();
    const authorized = `window.ui.authSelectors.authorized().getIn(['bearer', 'value'])`;
    expect(await reference.evaluate<string>(authorized)).toBe(secret);
    const kept = `JSON.stringify([location.href, document.cookie, { ...localStorage }, { ...sessionStorage }])`;
    expect(await reference.evaluate<string>(kept)).not.toContain(secret);
    await reference.reload();
    await reference.getByRole('link', { name: 'create a key' }).waitFor();
    await reference.close();
    await button('I’ve saved it').click();
    await page().getByRole('dialog').waitFor({ state: 'detached' });
    await page().getByText(NAME, { exact: true }).waitFor();
    expect(await page().content()).not.toContain(secret);
    const client = new OpenAI({ baseURL: `${platform.url}/v1`, apiKey: secret, maxRetries: 0 });
    const answer = await client.images.generate({ model: 'gpt-image-2', prompt: PROMPT });
    expect(answer.data?.[0]?.url).toMatch(/^http/);
    await open('/keys');
    expect(await screen.inspect('keys')).toEqual([]);
    await button(`Actions for ${NAME}`).click();
    await page().getByRole('menuitem', { name: 'Revoke' }).waitFor();
    expect(await screen.inspect('keys-menu')).toEqual([]);
    await page().getByRole('menuitem', { name: 'View usage' }).click();
    await heading('Usage').waitFor();
    expect(new URL(page().url()).searchParams.get('key')).toBe(NAME);
    await becomes(() => page().getByRole('combobox', { name: 'Key' }).inputValue(), NAME);
    await open('/keys');
  });

  it('shows the API reference in its own colors, with the key in the code of a request', async () => {
    await page().goto('/docs');
    await page().locator('.opblock').first().waitFor();
    await button('Authorize').click();
    await page().getByRole('dialog').getByLabel('API key').fill(secret);
    expect(await screen.inspect('docs-key')).toEqual([]);
    await page().getByRole('dialog').getByRole('button', { name: 'Authorize' }).click();
    await page().getByRole('dialog').getByRole('button', { name: 'Close' }).last().click();
    await button(/List available models/).click();
    await button('Execute').click();
    await page().locator('.curl').first().waitFor();
    expect(await page().locator('.curl').first().textContent()).toContain(`Authorization: Bearer ${secret}`);
    expect(await screen.inspect('docs')).toEqual([]);
    await page().getByRole('link', { name: 'Console' }).click();
    await heading('Overview').waitFor();
    await open('/keys');
  });

  it('gives the focus back to what opened a dialog, and to a new page', async () => {
    const focused = () =>
      page().evaluate<string>(`document.activeElement.ariaLabel ?? document.activeElement.textContent`);
    const isFocused = async (text: string) =>
      await waitUntil(async () => (await focused()).startsWith(text), { timeoutMs: 30_000 });
    await button('Create key').click();
    await page().getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    expect(await isFocused('Create key')).toBe(true);
    await button(`Actions for ${NAME}`).click();
    await page().getByRole('menuitem', { name: 'Edit' }).click();
    await page().getByRole('dialog').waitFor();
    await page().keyboard.press('Escape');
    expect(await isFocused(`Actions for ${NAME}`)).toBe(true);
    await openPage(page(), 'Tasks');
    await page().getByRole('link', { name: PROMPT }).first().click();
    await heading('A lighthouse <svg onload=alert(3)> {{constructor}}…').waitFor();
    const isMain = () => page().evaluate<boolean>(`document.activeElement.id === 'main'`);
    expect(await waitUntil(isMain, { timeoutMs: 30_000 })).toBe(true);
  });

  it('copies on a page without TLS', async () => {
    const context = page().context();
    await context.addCookies((await context.cookies()).map((cookie) => ({ ...cookie, domain: FOREIGN_NAME })));
    const id = page().url().split('/').at(-1)!;
    await page().goto(`http://${FOREIGN_NAME}:${new URL(platform.url).port}/console/tasks/${id}`);
    expect(await page().evaluate<boolean>('isSecureContext')).toBe(false);
    await button('Copy task ID').click();
    await page().getByRole('navigation', { name: 'Breadcrumb' }).getByRole('link', { name: 'Tasks' }).click();
    await page().getByLabel('Search prompts').focus();
    await page().keyboard.press('Control+V');
    await becomes(() => page().getByLabel('Search prompts').inputValue(), id);
    await open('/keys');
  });

  it('makes an image in the playground, and shows the request as code', async () => {
    await openPage(page(), 'Playground');
    await page().getByLabel('Prompt').fill(PROMPT);
    await page().getByRole('radio', { name: '16:9' }).click();
    await button('Show code').click();
    expect(await page().getByRole('tabpanel').textContent()).toContain('"size": "16:9"');
    await button('Generate').click();
    const image = page().getByRole('img', { name: PROMPT });
    await image.waitFor();
    await page().getByText('1536 × 864').waitFor();
    const width = `(async (image) => { await image.decode(); return image.naturalWidth })(document.querySelector('main img[alt]:not([alt=""])'))`;
    expect(await page().evaluate(width)).toBe(1536);
    expect(await screen.inspect('playground')).toEqual([]);
  });

  it('paints a mask over an image and has it edited', async () => {
    await open('/playground');
    const buffer = await sharp({ create: { width: 1024, height: 1024, channels: 3, background: '#246' } })
      .png()
      .toBuffer();
    await page().locator('input[type=file]').setInputFiles({ name: 'blue.png', mimeType: 'image/png', buffer });
    await button('Paint over image').click();
    // As large as its image once that has been read.
    const box = (await page().locator('canvas[width="1024"]').boundingBox())!;
    await page().mouse.move(box.x + box.width * 0.3, box.y + box.height * 0.3);
    await page().mouse.down();
    await page().mouse.move(box.x + box.width * 0.6, box.y + box.height * 0.6, { steps: 5 });
    await page().mouse.up();
    expect(await screen.inspect('mask')).toEqual([]);
    await button('Use mask').click();
    await page().getByLabel('Prompt').fill('A red boat');
    await button('Edit image').click();
    await page().getByRole('img', { name: 'A red boat', exact: true }).waitFor();
    const { rows } = await platform.pool.query(`SELECT mask FROM tasks WHERE action = 'edit'`);
    expect(rows).toEqual([{ mask: expect.any(Object) }]);
    // Its page shows what it was made from.
    await openPage(page(), 'Tasks');
    await page().getByRole('link', { name: 'A red boat' }).click();
    for (const name of ['Reference image', 'Mask']) {
      await page().getByRole('img', { name, exact: true }).waitFor();
      const width = `(async (image) => { await image.decode(); return image.naturalWidth })(document.querySelector('img[alt="${name}"]'))`;
      expect(await page().evaluate(width)).toBe(1024);
    }
    expect(await screen.inspect('task-inputs')).toEqual([]);
    await button('Open in playground').click();
    await heading('Playground').waitFor();
    await page().getByTitle('image-1.png').waitFor();
    await button('Edit mask').waitFor();
    await becomes(() => page().getByLabel('Prompt').inputValue(), 'A red boat');
    await button('Edit image').waitFor();
  });

  it('draws markup on an image, which guides its edit', async () => {
    // Not after a reload: the browser may not have stored the image yet.
    await button('Remove reference image 1').click();
    const buffer = await sharp({ create: { width: 1024, height: 1024, channels: 3, background: '#246' } })
      .png()
      .toBuffer();
    await page().locator('input[type=file]').setInputFiles({ name: 'blue.png', mimeType: 'image/png', buffer });
    await button('Paint over image').click();
    await page().getByText('Drawing', { exact: true }).click();
    await button('Green').click();
    const box = (await page().locator('canvas[width="1024"]').boundingBox())!;
    await page().mouse.move(box.x + box.width * 0.3, box.y + box.height * 0.3);
    await page().mouse.down();
    await page().mouse.move(box.x + box.width * 0.6, box.y + box.height * 0.6, { steps: 5 });
    await page().mouse.up();
    expect(await screen.inspect('markup')).toEqual([]);
    await button('Use markup').click();
    await page().getByLabel('Prompt').fill('A boat along the green line');
    await button('Show code').click();
    expect(await page().getByRole('tabpanel').textContent()).toContain('markup=@markup.png');
    await button('Edit image').click();
    await page().getByRole('img', { name: 'A boat along the green line', exact: true }).waitFor();
    const { rows } = await platform.pool.query(`SELECT mask FROM tasks WHERE prompt LIKE '%green line'`);
    expect(rows).toMatchObject([{ mask: { kind: 'markup' } }]);
    await openPage(page(), 'Tasks');
    await page().getByRole('link', { name: 'A boat along the green line' }).click();
    const drawn = page().getByRole('img', { name: 'Markup', exact: true });
    await drawn.waitFor();
    // Transparent but for the line, in its color.
    const pixel = (x: number, y: number) => `(async (image) => {
      await image.decode();
      const canvas = document.createElement('canvas');
      canvas.width = canvas.height = 1024;
      const context = canvas.getContext('2d');
      context.drawImage(image, 0, 0);
      return [...context.getImageData(${x}, ${y}, 1, 1).data];
    })(document.querySelector('img[alt="Markup"]'))`;
    expect(await page().evaluate(pixel(460, 460))).toEqual([22, 163, 74, 255]);
    expect(await page().evaluate(pixel(900, 100))).toEqual([0, 0, 0, 0]);
    await button('Open in playground').click();
    await button('Edit markup').waitFor();
  });

  it('opens a task from any place of its row, also in a new tab', async () => {
    await openPage(page(), 'Tasks');
    const row = page().getByRole('row').filter({ hasText: 'A red boat' });
    // Within the row, which moves down when what is above it arrives: both are measured at once.
    const place = async () => {
      const position = await row.getByText('Playground').evaluate(`(text) => {
        const [{ x, y, width, height }, row] = [text, text.closest('tr')].map((one) => one.getBoundingClientRect());
        return { x: x - row.x + width / 2, y: y - row.y + height / 2 };
      }`);
      return { position: position as { x: number; y: number } };
    };
    const [tab] = await Promise.all([
      page().context().waitForEvent('page'),
      row.click({ ...(await place()), button: 'middle' }),
    ]);
    await tab.getByRole('heading', { name: 'A red boat', exact: true }).waitFor();
    await tab.close();
    await row.click(await place());
    await heading('A red boat').waitFor();
    await page().goBack();
    await row.getByRole('link', { name: 'A red boat' }).press('Enter');
    await heading('A red boat').waitFor();
    // The page, its trail and the window have the task's prompt as their name, the address its id.
    await page().getByRole('navigation', { name: 'Breadcrumb' }).getByText('A red boat', { exact: true }).waitFor();
    await becomes(() => page().title(), 'A red boat · Darkroom');
    const id = (await page()
      .locator('main')
      .getByText(/^task_[0-9A-Z]{26}$/)
      .textContent())!;
    expect(new URL(page().url())).toMatchObject({ pathname: `/console/tasks/${id}`, search: '', hash: '' });
    await button('Copy task ID').waitFor();
    await open('/tasks');
  });

  it('lists tasks by filters that are in the address, and tells the story of one', async () => {
    await openPage(page(), 'Tasks');
    await page().getByLabel('Search prompts').fill('lighthouse');
    await page().waitForURL(/text=lighthouse/);
    const row = page().getByRole('link', { name: PROMPT }).first();
    // The list before has the row, too.
    await page()
      .getByText(/^(At least )?\d+ match(es)? · Newest first$/)
      .waitFor();
    await row.waitFor();
    await page().getByRole('link', { name: 'A red boat' }).waitFor({ state: 'detached' });
    const count = await page().getByRole('link', { name: PROMPT }).count();
    await page().getByPlaceholder('Any key').click();
    await page().getByRole('option', { name: 'Playground' }).click();
    await page().waitForURL(/key=playground/);
    await becomes(() => page().getByRole('link', { name: PROMPT }).count(), count - 1);
    expect(await screen.inspect('tasks')).toEqual([]);
    await row.click();
    await page().getByText('Provider called: sandbox').waitFor();
    for (const step of ['Accepted', 'Completed']) await page().getByText(step).first().waitFor();
    await page().getByText('Image kept until').waitFor();
    expect(await screen.inspect('task')).toEqual([]);
    await open('/tasks?text=nothing+like+this');
    await page().getByText('No matching tasks').waitFor();
    expect(await screen.inspect('tasks-none')).toEqual([]);
    await page().getByRole('link', { name: 'Clear filters' }).click();
    await row.waitFor();
    expect(await page().getByLabel('Search prompts').inputValue()).toBe('');
  });

  it('keeps the closed menu of a phone out of the order of the Tab key', async () => {
    await page().setViewportSize({ width: 390, height: 844 });
    const menu = page().getByRole('navigation', { name: 'Pages' });
    const isWithinMenu = () => page().evaluate<boolean>(`document.activeElement.closest('nav') !== null`);
    await button('Open menu').focus();
    await page().keyboard.press('Tab');
    expect(await isWithinMenu()).toBe(false);
    await button('Open menu').click();
    await menu.getByRole('link', { name: 'Usage' }).waitFor();
    await button('Close menu').focus();
    await page().keyboard.press('Tab');
    expect(await isWithinMenu()).toBe(true);
    await button('Close menu').click();
    await page().setViewportSize({ width: 1280, height: 860 });
    await menu.getByRole('link', { name: 'Usage' }).waitFor();
  });

  it('shows what was made and spent as charts, and gives it out as CSV', async () => {
    await openPage(page(), 'Usage');
    await page().locator('section', { hasText: 'Latency (p95)' }).waitFor();
    const today = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
    await page().locator('section', { hasText: 'Images' }).getByText(today.format(), { exact: true }).waitFor();
    await page().locator('section', { hasText: 'Failures' }).getByText('None in this period').waitFor();
    // The arrow keys read the values of a chart, so it is in the order of the Tab key, by its name.
    const unnamed = `[...document.querySelectorAll('svg[tabindex="0"]')].filter((svg) => !svg.getAttribute('aria-label')).length`;
    expect(await page().evaluate(unnamed)).toBe(0);
    expect(await page().locator('svg[aria-label="Images, chart"]').count()).toBe(1);
    expect(await screen.inspect('usage')).toEqual([]);
    const [download] = await Promise.all([page().waitForEvent('download'), page().getByText('Export CSV').click()]);
    expect(download.suggestedFilename()).toMatch(/\.csv$/);
  });

  it('tells why tasks failed, sorts them, and retries and cancels all that match after a preview', async () => {
    const { rows } = await platform.pool.query<{ id: string }>(`SELECT id FROM api_keys WHERE name = 'Playground'`);
    const own = { api_key_id: rows[0]!.id, provider: 'sandbox' };
    await insertFailed(platform, { ...own, prompt: 'The first wish' });
    await insertFailed(platform, { ...own, prompt: 'The second wish' });
    await open('/tasks?status=failed');
    const wishes = page().getByRole('link', { name: /wish$/ });
    await page().getByText('The provider could not be reached.').first().waitFor();
    await becomes(() => wishes.allTextContents(), ['The second wish', 'The first wish']);
    await button('Created').click();
    await page().waitForURL(/order=oldest/);
    await becomes(() => wishes.allTextContents(), ['The first wish', 'The second wish']);
    await page().getByText('2 tasks', { exact: true }).waitFor();
    await platform.pool.query(
      `UPDATE tasks SET finished_at = created_at + interval '900 s' WHERE prompt = 'The second wish'`,
    );
    await button('Duration').click();
    await page().waitForURL(/order=longest/);
    await becomes(() => wishes.allTextContents(), ['The second wish', 'The first wish']);
    await page()
      .getByRole('columnheader', { name: 'Duration' })
      .and(page().locator('[aria-sort="descending"]'))
      .waitFor();
    await button('Compact rows').click();
    await page().reload();
    await page().getByRole('link', { name: /wish$/ }).first().waitFor();
    expect(await button('Compact rows').getAttribute('aria-pressed')).toBe('true');
    expect(await screen.inspect('tasks-compact')).toEqual([]);
    await button('Compact rows').click();
    await button('Bulk actions').click();
    await page().getByRole('menuitem', { name: 'Retry failed tasks' }).click();
    await page().getByText('This retries 2 failed tasks in this account.').waitFor();
    const first = page().getByRole('list', { name: 'First 2 tasks' }).getByRole('listitem');
    await becomes(() => first.allTextContents(), ['The second wishFree', 'The first wishFree']);
    expect(await screen.inspect('tasks-retry')).toEqual([]);
    await button('Retry 2 tasks').click();
    await page().getByText('2 tasks retried').waitFor();
    await button('Bulk actions').click();
    await page().getByRole('menuitem', { name: 'Retry failed tasks' }).click();
    await page().getByText('or all were already retried.').waitFor();
    await page().getByRole('dialog').getByRole('button', { name: 'Close', exact: true }).last().click();
    const done = `SELECT FROM tasks WHERE retry_of IS NOT NULL AND status <> 'pending'`;
    const areDone = async (): Promise<boolean> => (await platform.pool.query(done)).rowCount === 2;
    expect(await waitUntil(areDone, { timeoutMs: 60_000 })).toBe(true);
    const call = { n: 1, provider: 'sandbox', key: '', model: 'gpt-image-2', free: true, startedAt: new Date() };
    const end = { outcome: 'failed', charged: 'no', code: 'upstream_error', status: 500, endedAt: new Date() };
    const later = (seconds: number) => new Date(Date.now() + seconds * 1_000);
    await insertFailed(platform, {
      ...own,
      prompt: 'A wish that waits',
      status: 'pending',
      phase: 'queued',
      finished_at: null,
      error: null,
      provider_starts: 1,
      calls: [{ ...call, ...end }],
      next_try_at: later(500),
      deadline_at: later(600),
    });
    await open('/tasks?status=pending');
    const waiting = page().getByRole('row').filter({ hasText: 'A wish that waits' });
    await waiting.getByText('Waiting', { exact: true }).waitFor();
    await waiting.getByText(/^Waiting to try again in \d+ s$/).waitFor();
    await page().getByRole('link', { name: 'A wish that waits' }).click();
    await page()
      .getByText(
        /^Attempt 1 of 3 failed: sandbox returned 500\. Waiting to try again in \d+ s · position 1 · waited .+$/,
      )
      .waitFor();
    expect(await screen.inspect('task-retrying')).toEqual([]);
    await page().getByRole('navigation', { name: 'Breadcrumb' }).getByRole('link', { name: 'Tasks' }).click();
    await button('Bulk actions').click();
    await page().getByRole('menuitem', { name: 'Cancel pending tasks' }).click();
    await page().getByText('This cancels 1 pending task in this account.').waitFor();
    await button('Cancel 1 task').click();
    await page().getByText('1 task canceled').waitFor();
    await page().getByRole('row').filter({ hasText: 'A wish that waits' }).getByText('Canceled').waitFor();
    const [download] = await Promise.all([page().waitForEvent('download'), page().getByText('Export CSV').click()]);
    expect(await readFile(await download.path(), 'utf8')).toMatch(
      /^id,created_at,.*,prompt,input_tokens,.*\r\ntask_.*,A wish that waits,+\r\n/,
    );
  });

  it('revokes the key, which is refused from then on', async () => {
    await openPage(page(), 'Keys');
    await button(`Actions for ${NAME}`).click();
    await page().getByRole('menuitem', { name: 'Revoke' }).click();
    await page().getByText('You can’t undo this').waitFor();
    expect(await screen.inspect('revoke')).toEqual([]);
    await button('Revoke key').click();
    await page().getByText('is revoked.').waitFor();
    expect((await platform.call('/v1/models', { key: secret })).status).toBe(401);
  });
});
