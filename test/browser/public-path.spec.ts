import { waitUntil } from '#embedded/wait-until.js';
import { becomes, openPage, openScreen, type Screen } from '../support/chromium.js';
import { linkToken, PASSWORD } from '../support/console.js';
import { freePort } from '../support/free-port.js';
import { CLIENT, TestOpenIdProvider } from '../support/openid-provider.js';
import { PathProxy } from '../support/path-proxy.js';
import { startPlatform, type Platform } from '../support/platform.js';

// The API has a route of its own that begins with this path: POST /images/generations.
const PATH = '/images';

describe.each([
  ['passes the path on', false],
  ['removes the path', true],
])('the console under a path, behind a proxy that %s', (_name, strips) => {
  let proxy: PathProxy;
  let op: TestOpenIdProvider;
  let platform: Platform;
  let screen: Screen;
  const page = (): Screen['page'] => screen.page;
  const heading = (name: string) => page().getByRole('heading', { name, level: 1 });
  const button = (name: string | RegExp) => page().getByRole('button', { name });

  beforeAll(async () => {
    proxy = await PathProxy.start({ path: PATH, strips });
    const port = await freePort();
    const issuer = `http://localhost:${port}`;
    op = await TestOpenIdProvider.start({ issuer, port, services: [proxy.url], publicClient: true });
    platform = await startPlatform({
      PUBLIC_URL: proxy.url,
      OIDC_ISSUER: issuer,
      OIDC_CLIENT_ID: CLIENT.id,
      OIDC_NAME: 'Sesame',
    });
    proxy.target = platform.url;
    screen = await openScreen(proxy.origin);
  });
  afterAll(async () => {
    await screen.close();
    await platform.close();
    await op.close();
    await proxy.close();
  });
  afterEach(() => {
    expect([...screen.troubles, ...proxy.strays]).toEqual([]);
  });

  it('creates the first admin and makes an image that is shown', async () => {
    await page().goto(`${PATH}/console/first-run#token=${await linkToken(platform, { purpose: 'first_admin' })}`);
    await page().getByLabel('Your name').fill('Ada');
    await page().getByLabel('Email').fill('ada@example.org');
    await page().getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await button('Create account').click();
    await openPage(page(), 'Playground');
    await page().getByLabel('Prompt').fill('A fox under a path');
    await button(/^Generate/).click();
    const image = page().getByRole('img', { name: 'A fox under a path' });
    await image.waitFor();
    const isDrawn = () =>
      page().evaluate<boolean>(`document.querySelector('[alt="A fox under a path"]').naturalWidth > 0`);
    expect(await waitUntil(isDrawn, { timeoutMs: 30_000 })).toBe(true);
    expect(await image.getAttribute('src')).toMatch(/^\/images\/i\//);
    const { rows } = await platform.pool.query<{ id: string }>('SELECT id FROM tasks');
    const small = `(async (image) => { await image.decode(); return image.naturalWidth; })(document.querySelector('main img'))`;
    // The image itself, where the worker takes longer than a page waits for a thumbnail.
    const widthOfSmall = async (): Promise<unknown> => {
      await page().goto(`${PATH}/console/tasks`);
      await page().locator('main img').waitFor();
      return await page().evaluate(small);
    };
    await becomes(widthOfSmall, 320);
    await page().goto(`${PATH}/console/tasks/${rows[0]!.id}`);
    await image.first().waitFor();
    await page().getByText(`${proxy.url}/v1`).first().waitFor();
  });

  it('keeps the session to its path, and ends it', async () => {
    const cookies = await page().context().cookies(`${proxy.url}/console/api/session`);
    expect(cookies.map(({ name, path }) => [name, path])).toEqual([['darkroom_session', `${PATH}/console`]]);
    expect(await page().context().cookies(proxy.origin)).toEqual([]);
    await button('Sign out').click();
    await heading('Sign in').waitFor();
    expect(page().url()).toBe(`${proxy.url}/console/sign-in`);
  });

  it('comes back to the page that was asked for, by password and by the provider', async () => {
    await page().goto(`${PATH}/console/keys`);
    await heading('Sign in').waitFor();
    await page().getByLabel('Email').fill('ada@example.org');
    await page().getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await button('Sign in').click();
    await heading('Keys').waitFor();
    expect(page().url()).toBe(`${proxy.url}/console/keys`);
    await button('Sign out').click();
    await heading('Sign in').waitFor();
    op.person = { sub: 'ada', email: 'ada@example.org', email_verified: true, name: 'Ada' };
    await page().getByText('Continue with Sesame').click();
    await heading('Overview').waitFor();
    expect(page().url()).toBe(`${proxy.url}/console/`);
  });

  it('hands a new key to the reference, which calls the API under the path', async () => {
    await page().goto(`${PATH}/console/keys`);
    await button('Create key').first().click();
    await page().getByLabel('Name').fill('path');
    await button('Create key').last().click();
    const [reference] = await Promise.all([
      page().waitForEvent('popup'),
      button('Try it in the API reference').click(),
    ]);
    await reference.getByText('Your new key is filled in.').waitFor();
    expect(reference.url()).toBe(`${proxy.url}/docs`);
    await reference.getByRole('button', { name: /List available models/ }).click();
    await reference.getByRole('button', { name: 'Execute' }).click();
    await reference.locator('.request-url').getByText(`${proxy.url}/v1/models`).waitFor();
    await reference.locator('.live-responses-table .response-col_status').getByText('200').first().waitFor();
    await reference.close();
  });

  it('moves to the path when the page was opened without it', async () => {
    const direct = await openScreen(platform.url);
    await direct.page.goto('/console/tasks?status=failed');
    await direct.page.getByRole('heading', { name: 'Sign in', level: 1 }).waitFor();
    expect(direct.page.url()).toBe(`${platform.url}${PATH}/console/sign-in`);
    expect(direct.troubles).toEqual([]);
    await direct.close();
  });
});
