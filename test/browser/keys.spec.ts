import { totpCode } from '#accounts/totp.js';
import { openScreen, type Screen } from '../support/chromium.js';
import { linkToken, PASSWORD } from '../support/console.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';

describe('keys of members, admins and operators in a browser', () => {
  let platform: ApiPlatform;
  let accountId: string;
  /** The operator's browser, that of the second account's admin, and that of its member. */
  let ada: Screen;
  let grace: Screen;
  let mo: Screen;

  const open = async ({ page }: Screen, path: string): Promise<void> => {
    await page.goto(`/console${path}`);
    await page.waitForLoadState('networkidle');
  };
  const button = ({ page }: Screen, name: string) => page.getByRole('button', { name, exact: true });
  const field = ({ page }: Screen, name: string) => page.getByRole('textbox', { name, exact: true });
  const rowOf = ({ page }: Screen, text: string) => page.getByRole('row').filter({ hasText: text });
  const join = async (link: string, email: string, name: string): Promise<Screen> => {
    const screen = await openScreen(platform.url);
    await open(screen, link);
    if (link.startsWith('/first-run')) await screen.page.getByLabel('Email').fill(email);
    await screen.page.getByLabel('Your name').fill(name);
    await screen.page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await screen.page.getByRole('button', { name: /^(Join|Create account)$/ }).click();
    await screen.page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    await open(screen, '/keys');
    return screen;
  };
  const invited = async (email: string, role: 'admin' | 'member', name: string): Promise<Screen> =>
    await join(
      `/invite#token=${await linkToken(platform, { purpose: 'invite', email, role, accountId })}`,
      email,
      name,
    );
  const createKey = async (screen: Screen, name: string): Promise<void> => {
    await button(screen, 'Create key').first().click();
    await field(screen, 'Name').fill(name);
    await button(screen, 'Create key').last().click();
    await button(screen, 'I’ve saved it').click();
    await rowOf(screen, name).waitFor();
  };

  beforeAll(async () => {
    platform = await startApiPlatform({ RATE_SUBMITS_PER_MINUTE: '60' });
    accountId = await platform.newAccount();
    const first = `/first-run#token=${await linkToken(platform, { purpose: 'first_admin' })}`;
    ada = await join(first, 'ada@example.org', 'Ada');
    grace = await invited('grace@example.org', 'admin', 'Grace');
    mo = await invited('mo@example.org', 'member', 'Mo');
  });
  afterAll(async () => {
    await Promise.all([ada, grace, mo].map((screen) => screen.close()));
    await platform.close();
  });
  afterEach(() => {
    expect([ada, grace, mo].flatMap(({ troubles }) => troubles)).toEqual([]);
  });

  it('counts the key of the first start, and says where a key comes from that nobody created here', async () => {
    const step = ada.page.getByRole('listitem').filter({ hasText: 'Create a key' });
    const createdBy = (maker: string | null) =>
      platform.pool.query(`UPDATE api_keys SET created_by = $1, last_used_at = NULL WHERE name = 'e2e'`, [maker]);
    await createdBy('command');
    await open(ada, '/keys');
    await rowOf(ada, 'e2e').getByText('Command line').waitFor();
    await open(ada, '/');
    await step.getByRole('button', { name: 'Create key' }).waitFor();
    await createdBy('setup');
    await open(ada, '/keys');
    await rowOf(ada, 'e2e').getByText('Created at setup').waitFor();
    await open(ada, '/');
    await step.getByText('Darkroom created one at setup: npm start prints it.').waitFor();
    await step.getByText('done').waitFor();
    expect(await ada.inspect('overview-setup-key')).toEqual([]);
    await createdBy(null);
  });

  it('has the first account named where its owner comes in', async () => {
    await ada.page.getByText('Your account is called “Default”.').waitFor();
    await button(ada, 'Rename account').click();
    await field(ada, 'Name').fill('Atelier');
    await button(ada, 'Save').click();
    await ada.page.getByRole('main').getByText('Atelier', { exact: true }).waitFor();
    expect(await button(ada, 'Rename account').count()).toBe(0);
  });

  it('H6: an operator sets the limits of an account, of which blank is the default', async () => {
    await open(ada, '/accounts');
    await button(ada, `Actions for ${accountId}`).click();
    await ada.page.getByRole('menuitem', { name: 'Rate limits and priority' }).click();
    await ada.page.getByText('Leave blank for the default (300); 0 = unlimited').waitFor();
    await field(ada, 'Requests per minute').fill('30');
    await field(ada, 'Keys').fill('2');
    await field(ada, 'Weight').fill('3');
    await ada.page.getByRole('combobox', { name: 'Response format' }).click();
    await ada.page.getByRole('option', { name: 'Link (url)' }).click();
    expect(await ada.inspect('account-limits')).toEqual([]);
    await button(ada, 'Save').click();
    await ada.page.getByRole('dialog').waitFor({ state: 'detached' });
    const { rows } = await platform.pool.query(
      'SELECT weight, submits_per_minute, polls_per_minute, max_keys, default_response_format FROM accounts WHERE id = $1',
      [accountId],
    );
    expect(rows).toEqual([
      { weight: 3, submits_per_minute: 30, polls_per_minute: null, max_keys: 2, default_response_format: 'url' },
    ]);
    await open(grace, '/team');
    await grace.page.getByText('30 requests/min · 2 keys').waitFor();
    expect(await grace.inspect('team-limits')).toEqual([]);
  });

  it('H6: a member finds no limits to set, and sees the keys that it created alone', async () => {
    await open(mo, '/keys');
    await mo.page.getByText('You see only the keys you created').waitFor();
    expect(await mo.inspect('keys-member-empty')).toEqual([]);
    await open(grace, '/keys');
    await createKey(grace, 'shop of Grace');
    await open(mo, '/keys');
    await mo.page.getByText('No keys yet').waitFor();
    await button(mo, 'Create key').first().click();
    await field(mo, 'Name').fill('script of Mo');
    for (const absent of ['Budget', 'Weight', 'Requests per minute']) expect(await field(mo, absent).count()).toBe(0);
    expect(await button(mo, 'Rate limits and priority').count()).toBe(0);
    expect(await mo.inspect('key-form-member')).toEqual([]);
    await button(mo, 'Create key').last().click();
    await button(mo, 'I’ve saved it').click();
    await rowOf(mo, 'script of Mo').waitFor();
    expect(await mo.page.getByText('shop of Grace').count()).toBe(0);
    expect(await mo.page.getByRole('columnheader', { name: 'Created by' }).count()).toBe(0);
    expect(await mo.inspect('keys-member')).toEqual([]);
  });

  it('H6: a full account says so, and says who can allow more', async () => {
    await button(mo, 'Create key').click();
    await field(mo, 'Name').fill('one too many');
    await button(mo, 'Create key').last().click();
    await mo.page.getByText('The account has 2 of at most 2 keys.').waitFor();
    expect(await mo.inspect('keys-full')).toEqual([]);
    await button(mo, 'Cancel').click();
  });

  it('shows an admin who created a key, and keeps its limits within the account’s', async () => {
    await open(grace, '/keys');
    await rowOf(grace, 'script of Mo').getByText('Mo', { exact: true }).waitFor();
    expect(await grace.inspect('keys-admin')).toEqual([]);
    await button(grace, 'Actions for script of Mo').click();
    await grace.page.getByRole('menuitem', { name: 'Edit' }).click();
    await button(grace, 'Rate limits and priority').click();
    await grace.page.getByText('Leave blank for the default (30); at most 30 (account limit)').waitFor();
    await field(grace, 'Requests per minute').fill('10');
    await grace.page.getByLabel('Budget', { exact: true }).fill('5');
    expect(await grace.inspect('key-form-limits')).toEqual([]);
    await button(grace, 'Save').click();
    await rowOf(grace, 'script of Mo').getByText('10 requests/min').waitFor();
    // On a phone, a row is a card with all of its cells.
    await grace.page.setViewportSize({ width: 390, height: 844 });
    await rowOf(grace, 'script of Mo').getByText('10 requests/min').waitFor();
    await rowOf(grace, 'script of Mo').getByText('Mo', { exact: true }).waitFor();
    await button(grace, 'Actions for script of Mo').click();
    await grace.page.getByRole('menuitem', { name: 'Edit' }).waitFor();
    await grace.page.keyboard.press('Escape');
    await grace.page.setViewportSize({ width: 1280, height: 860 });
  });

  it('H6: a member rotates a key that an admin has limited, once, and finds tasks by these keys alone', async () => {
    await open(mo, '/keys');
    await button(mo, 'Actions for script of Mo').click();
    await mo.page.getByRole('menuitem', { name: 'Rotate' }).click();
    await button(mo, 'Rotate key').click();
    await button(mo, 'I’ve saved it').click();
    const old = rowOf(mo, 'script of Mo').filter({ hasText: 'rotated' });
    await old.waitFor();
    expect(await rowOf(mo, 'script of Mo').getByText('10 requests/min').count()).toBe(2);
    expect(await mo.inspect('keys-rotated')).toEqual([]);
    await old.getByRole('button').click();
    await mo.page.getByRole('menuitem', { name: 'Revoke' }).waitFor();
    expect(await mo.page.getByRole('menuitem', { name: 'Rotate' }).count()).toBe(0);
    const filters = async ({ page }: typeof mo) => {
      await page.getByPlaceholder('Any key').click();
      await page.getByRole('option', { name: 'script of Mo' }).first().waitFor();
      return new Set(await page.getByRole('option').allTextContents());
    };
    await Promise.all([open(mo, '/tasks'), open(grace, '/tasks')]);
    expect(await filters(mo)).toEqual(new Set(['Playground', 'script of Mo']));
    expect(await filters(grace)).toEqual(new Set(['Playground', 'script of Mo', 'shop of Grace']));
  });

  it('leads whoever lacks two-factor authentication to it where the account requires it, and lets them on then', async () => {
    const turnOn = async ({ page }: Screen): Promise<void> => {
      const secret = (await page.getByTestId('totp-secret').textContent())!.replaceAll(' ', '');
      await page.getByRole('textbox', { name: 'Code' }).fill(totpCode(secret, Math.floor(Date.now() / 30_000)));
      await page.getByRole('button', { name: 'Turn on' }).click();
      await page.getByRole('button', { name: 'I’ve saved them' }).click();
    };
    const title = ({ page }: Screen) =>
      page.getByRole('heading', { name: 'Turn on two-factor authentication', level: 1 });
    await open(mo, '/keys');
    await open(grace, '/team');
    await grace.page.getByRole('switch', { name: 'Require for everyone' }).click();
    await grace.page.getByText('Keys and single sign-on aren’t affected.').waitFor();
    expect(await grace.inspect('team-require-two-factor')).toEqual([]);
    // On a phone, its text has the width of the page.
    await grace.page.setViewportSize({ width: 390, height: 844 });
    const text = grace.page.getByText('Members who sign in with a password must set it up first.');
    expect((await text.boundingBox())!.width).toBeGreaterThan(200);
    await grace.page.setViewportSize({ width: 1280, height: 860 });
    await button(grace, 'Require it').click();
    await title(grace).waitFor();
    expect(await grace.inspect('two-factor-required')).toEqual([]);
    await turnOn(grace);
    await grace.page.getByRole('heading', { name: 'Team', level: 1 }).waitFor();
    await grace.page.getByRole('switch', { name: 'Require for everyone', checked: true }).waitFor();
    // A page that was open learns of it with its next request, which the page of keys makes by itself.
    await title(mo).waitFor();
    await turnOn(mo);
    await mo.page.getByRole('heading', { name: 'Keys', level: 1 }).waitFor();
  });

  it('shows the API reference in the font of the console', async () => {
    await mo.page.goto('/docs');
    await mo.page.locator('.opblock').first().waitFor();
    await mo.page.evaluate('document.fonts.ready.then(() => undefined)');
    const devtools = await mo.page.context().newCDPSession(mo.page);
    await devtools.send('DOM.enable');
    await devtools.send('CSS.enable');
    const { root } = await devtools.send('DOM.getDocument');
    const { nodeId } = await devtools.send('DOM.querySelector', { nodeId: root.nodeId, selector: '.docs-head strong' });
    const { fonts } = await devtools.send('CSS.getPlatformFontsForNode', { nodeId });
    expect(fonts.map(({ isCustomFont, familyName }) => [isCustomFont, familyName])).toEqual([[true, 'Inter']]);
    await devtools.detach();
  });
});
