import OpenAI from 'openai';
import sharp from 'sharp';
import { waitUntil } from '#embedded/wait-until.js';
import { openScreen, type Screen } from '../support/chromium.js';
import { linkToken, PASSWORD } from '../support/console.js';
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
    await open('/keys');
    await heading('Almost there').waitFor();
    expect(await screen.inspect('waiting')).toEqual([]);
    await open(`/first-run#token=${await linkToken(platform, { purpose: 'first_admin' })}`);
    expect(page().url()).toBe(`${platform.url}/console/first-run`);
    expect(await screen.inspect('first-run')).toEqual([]);
    await page().getByLabel('Your name').fill('Ada Lovelace');
    await page().getByLabel('Email').fill('ada@example.org');
    await page().getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await button('Create account').click();
    await heading('Keys').waitFor();
    await page().getByText('No keys yet').waitFor();
    expect(await screen.inspect('keys-empty')).toEqual([]);
  });

  it('signs out and in again, and says when the password is wrong', async () => {
    await button('Sign out').click();
    await heading('Sign in').waitFor();
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
    expect(page().url()).toBe(`${platform.url}/console/tasks?status=failed`);
    await page().getByRole('link', { name: 'Ada Lovelace' }).click();
    await page().getByText('this session').waitFor();
    expect(await screen.inspect('account')).toEqual([]);
    await page().getByRole('link', { name: 'Keys' }).click();
  });

  it('makes a key whose secret works with the OpenAI client at once', async () => {
    await button('New key').first().click();
    await page().getByRole('textbox', { name: 'Name' }).fill(NAME);
    expect(await screen.inspect('key-form')).toEqual([]);
    await button('Create key').click();
    secret = (await page().getByTestId('secret').textContent())!;
    expect(secret).toMatch(/^sk-\S{20,}$/);
    expect(await page().getByRole('tabpanel').textContent()).toContain(`Bearer ${secret}`);
    expect(await screen.inspect('key-secret')).toEqual([]);
    await button('I’ve saved it').click();
    await page().getByText(NAME, { exact: true }).waitFor();
    expect(await page().content()).not.toContain(secret);
    const client = new OpenAI({ baseURL: `${platform.url}/v1`, apiKey: secret, maxRetries: 0 });
    const made = await client.images.generate({ model: 'gpt-image-2', prompt: PROMPT });
    expect(made.data?.[0]?.url).toMatch(/^http/);
    await open('/keys');
    expect(await screen.inspect('keys')).toEqual([]);
  });

  it('makes a picture in the playground, and shows the request as code', async () => {
    await page().getByRole('link', { name: 'Playground' }).click();
    await page().getByLabel('Prompt').fill(PROMPT);
    await page().getByRole('radio', { name: '16:9' }).click();
    await button('Show code').click();
    expect(await page().getByRole('tabpanel').textContent()).toContain('"size": "16:9"');
    await button('Generate').click();
    const picture = page().getByRole('img', { name: PROMPT });
    await picture.waitFor();
    await page().getByText('1536 × 864').waitFor();
    const width = `(async (image) => { await image.decode(); return image.naturalWidth })(document.querySelector('main img[alt]:not([alt=""])'))`;
    expect(await page().evaluate(width)).toBe(1536);
    expect(await screen.inspect('playground')).toEqual([]);
  });

  it('paints a mask over a picture and has it edited', async () => {
    await open('/playground');
    const buffer = await sharp({ create: { width: 1024, height: 1024, channels: 3, background: '#246' } })
      .png()
      .toBuffer();
    await page().locator('input[type=file]').setInputFiles({ name: 'blue.png', mimeType: 'image/png', buffer });
    await button('Paint mask').click();
    const canvas = page().locator('canvas');
    const box = (await canvas.boundingBox())!;
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
  });

  it('lists tasks by filters that are in the address, and tells the story of one', async () => {
    await page().getByRole('link', { name: 'Tasks' }).click();
    await page().getByLabel('Search prompts').fill('lighthouse');
    await page().waitForURL(/text=lighthouse/);
    const row = page().getByRole('link', { name: PROMPT }).first();
    await row.waitFor();
    expect(await page().getByRole('link', { name: 'A red boat' }).count()).toBe(0);
    const made = await page().getByRole('link', { name: PROMPT }).count();
    await page().getByPlaceholder('Any key').click();
    await page().getByRole('option', { name: 'Playground' }).click();
    await page().waitForURL(/key=playground/);
    await waitUntil(async () => (await page().getByRole('link', { name: PROMPT }).count()) === made - 1, {
      timeoutMs: 10_000,
    });
    expect(await page().getByRole('link', { name: PROMPT }).count()).toBe(made - 1);
    expect(await screen.inspect('tasks')).toEqual([]);
    await row.click();
    await page().getByText('Provider called: sandbox').waitFor();
    for (const step of ['Accepted', 'Completed']) await page().getByText(step).first().waitFor();
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
    await page().getByRole('link', { name: 'Usage' }).click();
    await page().getByText('Latency (p95)').waitFor();
    const today = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
    await page().locator('section', { hasText: 'Images' }).getByText(today.format(), { exact: true }).waitFor();
    await page().locator('section', { hasText: 'Failures' }).getByText('None in this period').waitFor();
    expect(await screen.inspect('usage')).toEqual([]);
    const [download] = await Promise.all([page().waitForEvent('download'), page().getByText('Export CSV').click()]);
    expect(download.suggestedFilename()).toMatch(/\.csv$/);
  });

  it('revokes the key, which is refused from then on', async () => {
    await page().getByRole('link', { name: 'Keys' }).click();
    await button(`Actions for ${NAME}`).click();
    await page().getByRole('menuitem', { name: 'Revoke' }).click();
    await page().getByText('You cannot undo this').waitFor();
    expect(await screen.inspect('revoke')).toEqual([]);
    await button('Revoke key').click();
    await page().getByText('is revoked.').waitFor();
    expect((await platform.call('/v1/models', { key: secret })).status).toBe(401);
  });
});
