import { readFile } from 'node:fs/promises';
import { totpCode } from '#accounts/totp.js';
import { holdRequests, menuLink, openPage, openScreen, type Screen } from '../support/chromium.js';
import { linkToken, PASSWORD } from '../support/console.js';
import { waitForLockWait } from '../support/lock-waits.js';
import { patient } from '../support/patience.js';
import { startPlatform, type Platform } from '../support/platform.js';

const HOSTILE = '<img src=x onerror="alert(1)"><script>alert(2)</script>';
const ACCOUNT = `Atelier "><svg onload=alert(3)> {{constructor}}`;

describe('people and accounts in a browser', () => {
  let platform: Platform;
  /** The operator's browser, and one that others open fresh. */
  let ada: Screen;
  let other: Screen;

  const open = async ({ page }: Screen, path: string): Promise<void> => {
    await page.goto(`/console${path}`, { waitUntil: 'networkidle' });
  };
  const button = ({ page }: Screen, name: string | RegExp) => page.getByRole('button', { name, exact: true });
  const heading = ({ page }: Screen, name: string) => page.getByRole('heading', { name, level: 1 });
  const menu = ({ page }: Screen) => page.getByRole('navigation', { name: 'Pages' });
  const act = async (screen: Screen, name: string, item: string): Promise<void> => {
    await button(screen, `Actions for ${name}`).click();
    await screen.page.getByRole('menuitem', { name: item, exact: true }).click();
  };
  const setRole = async (screen: Screen, name: string, role: string, shot?: string): Promise<void> => {
    await act(screen, name, 'Change role');
    await screen.page.getByRole('radio', { name: role }).check();
    if (shot !== undefined) expect(await screen.inspect(shot)).toEqual([]);
    await button(screen, 'Change role').click();
    await screen.page.getByRole('dialog').waitFor({ state: 'detached' });
  };
  const rowOf = ({ page }: Screen, text: string) => page.getByRole('row').filter({ hasText: text });
  /** The link that is shown once; its dialog is closed. */
  const takeLink = async (screen: Screen): Promise<string> => {
    const link = (await screen.page.getByTestId('link').textContent())!;
    await button(screen, 'Done').click();
    await screen.page.getByTestId('link').waitFor({ state: 'detached' });
    expect(await screen.page.content()).not.toContain(link);
    return link.slice(`${platform.url}/console`.length);
  };
  const fresh = async (): Promise<Screen> => {
    await other.close();
    return (other = await openScreen(platform.url));
  };
  const come = async (screen: Screen, link: string, name: string): Promise<void> => {
    await open(screen, link);
    if (name !== '') await screen.page.getByLabel('Your name').fill(name);
    await screen.page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await button(screen, name === '' ? 'Save and sign in' : /^(Join|Create account)$/).click();
    await heading(screen, 'Overview').waitFor();
  };

  beforeAll(async () => {
    platform = await startPlatform();
    [ada, other] = [await openScreen(platform.url), await openScreen(platform.url)];
    await open(ada, `/first-run#token=${await linkToken(platform, { purpose: 'first_admin' })}`);
    await ada.page.getByLabel('Email').fill('ada@example.org');
    await ada.page.getByLabel('Your name').fill('Ada');
    await ada.page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await button(ada, 'Create account').click();
    await heading(ada, 'Overview').waitFor();
  });
  afterAll(async () => {
    await Promise.all([ada.close(), other.close()]);
    await platform.close();
  });
  // Whatever was typed stays text: nothing of it ran, no policy was broken.
  afterEach(async () => {
    for (const { page, troubles } of [ada, other]) {
      expect(troubles).toEqual([]);
      expect(await page.locator('img[src="x"], main script, main svg[onload]').count()).toBe(0);
    }
  });

  it('shows an admin alone, and invites a member by a link that is shown once', async () => {
    await openPage(ada.page, 'Team');
    await ada.page.getByText('You are the only member').waitFor();
    await ada.page.getByText('acct_default').waitFor();
    expect(await ada.inspect('team-alone')).toEqual([]);
    await button(ada, 'Invite members').click();
    await ada.page.getByLabel('Email').fill('mo@example.org');
    // Of the first account, whose admins operate everything.
    await ada.page.getByText(/and everyone’s keys and tasks\. Operates this installation/).waitFor();
    expect(await ada.inspect('team-invite')).toEqual([]);
    // What was typed is not lost by accident.
    await ada.page.keyboard.press('Escape');
    expect(await ada.inspect('team-invite-discard')).toEqual([]);
    await button(ada, 'Keep editing').click();
    await button(ada, 'Keep editing').waitFor({ state: 'detached' });
    expect(await ada.page.getByLabel('Email').inputValue()).toBe('mo@example.org');
    await button(ada, 'Create invitation').click();
    await ada.page.getByText('The link works once and expires in 24 hours').waitFor();
    await ada.page.getByText('This link works on this machine only: set PUBLIC_URL to an address').waitFor();
    expect(await ada.inspect('team-link')).toEqual([]);
    const lost = await takeLink(ada);
    await ada.page.getByText('Pending invitations').waitFor();
    expect(await ada.page.getByText('You are the only member').count()).toBe(0);
    await button(ada, 'New link for mo@example.org').click();
    const link = await takeLink(ada);
    expect(await ada.inspect('team-invitations')).toEqual([]);
    await open(other, lost);
    await heading(other, 'Link no longer works').waitFor();
    expect(await other.page.getByLabel('Your name').count()).toBe(0);
    expect(await other.inspect('link-spent')).toEqual([]);
    await come(await fresh(), link, HOSTILE);
  });

  it('keeps from members what is for admins', async () => {
    for (const name of ['Keys', 'Playground', 'Tasks', 'Usage'])
      await menu(other).getByRole('link', { name }).waitFor();
    for (const name of ['Team', 'Accounts']) expect(await menu(other).getByRole('link', { name }).count()).toBe(0);
    await open(other, '/team');
    await other.page.getByText('Only owners and admins can open this page.').waitFor();
    expect(await other.inspect('team-member')).toEqual([]);
    await open(other, '/accounts');
    await other.page.getByText('Operators only').waitFor();
    await open(other, '/tasks/task_of_somebody_else');
    await other.page.getByText('You see only tasks that you made here or with your keys.').waitFor();
    expect(await button(other, 'Create account').count()).toBe(0);
  });

  it('invites everyone in a pasted list, and tells the outcome of each', async () => {
    await open(ada, '/team#new');
    await ada.page.getByLabel('Email').fill('Lin <lin@example.org>, max@example.org\nada@example.org lin@example.org');
    expect(await ada.inspect('team-invite-several')).toEqual([]);
    await button(ada, 'Create 3 invitations').click();
    await ada.page.getByText('2 of 3 invitations created.').waitFor();
    await rowOf(ada, 'ada@example.org').getByText('already has this email address').first().waitFor();
    expect(await ada.inspect('team-invited-several')).toEqual([]);
    await button(ada, 'Copy the link for max@example.org').click();
    await button(ada, 'Copy all links').click();
    await button(ada, 'Copied').waitFor();
    await button(ada, 'Done').click();
    for (const name of ['lin', 'max']) {
      await button(ada, `Withdraw invitation for ${name}@example.org`).click();
      await button(ada, 'Withdraw invitation').click();
      await rowOf(ada, `${name}@example.org`).waitFor({ state: 'detached' });
    }
  });

  it('withdraws an invitation', async () => {
    await open(ada, '/team');
    await button(ada, 'Invite members').click();
    await ada.page.getByLabel('Email').fill('kim@example.org');
    await button(ada, 'Create invitation').click();
    const link = await takeLink(ada);
    await button(ada, 'Withdraw invitation for kim@example.org').click();
    expect(await ada.inspect('team-withdraw')).toEqual([]);
    await button(ada, 'Withdraw invitation').click();
    await ada.page.getByText('Pending invitations').waitFor({ state: 'detached' });
    const { status } = await fetch(`${platform.url}/console/api/join`, {
      method: 'POST',
      headers: { origin: platform.url, 'x-darkroom-csrf': '1', 'content-type': 'application/json' },
      body: JSON.stringify({ token: link.split('=')[1], name: 'Kim', password: PASSWORD }),
      signal: AbortSignal.timeout(patient(10_000)),
    });
    expect(status).toBe(410);
  });

  it('gives and takes admin rights, but never those of the last admin', async () => {
    await setRole(ada, HOSTILE, 'Admin', 'team-role');
    await rowOf(ada, 'mo@example.org').getByText('Admin').waitFor();
    await open(other, '/team');
    await rowOf(other, 'ada@example.org').getByText('Owner').waitFor();
    for (const name of [HOSTILE, 'Ada']) expect(await button(other, `Actions for ${name}`).count()).toBe(0);
    expect(await other.inspect('team')).toEqual([]);
    await act(ada, HOSTILE, 'Change role');
    await ada.page.getByRole('radio', { name: 'Member' }).check();
    // Mo is faster, and Ada no admin any more, when hers is done. No other request of hers waits to note her visit.
    const client = await platform.pool.connect();
    await platform.pool.query('UPDATE sessions SET last_seen_at = now()');
    try {
      await client.query(`BEGIN; UPDATE people SET role = 'member' WHERE email = 'ada@example.org'`);
      await button(ada, 'Change role').click();
      await waitForLockWait(platform.pool);
      await client.query('COMMIT');
    } finally {
      client.release();
    }
    await ada.page.getByText('This is the last owner or admin, and an account needs at least one.').waitFor();
    expect(await ada.inspect('team-last')).toEqual([]);
    await open(other, '/team');
    // As the last admin, Mo became the owner.
    await setRole(other, 'Ada', 'Owner');
    await rowOf(other, 'ada@example.org').getByText('Owner').waitFor();
    await open(ada, '/team');
    await setRole(ada, HOSTILE, 'Member');
    await rowOf(ada, 'mo@example.org').getByText('Member').waitFor();
  });

  it('shows each role the pages that it includes, and no button that would be refused', async () => {
    const pages = async () => await menu(other).getByRole('link').allTextContents();
    await setRole(ada, HOSTILE, 'Viewer');
    await rowOf(ada, 'mo@example.org').getByText('Viewer').waitFor();
    await open(other, '/tasks');
    await heading(other, 'Tasks').waitFor();
    expect(await pages()).toEqual(expect.arrayContaining(['Overview', 'Gallery', 'Tasks', 'Batches', 'Usage']));
    expect(await pages()).toHaveLength(6);
    expect(await button(other, 'Bulk actions').count()).toBe(0);
    await open(other, '/keys');
    await other.page.getByText('Your role doesn’t include this page').waitFor();
    expect(await other.inspect('no-access')).toEqual([]);
    await setRole(ada, HOSTILE, 'Billing');
    await rowOf(ada, 'mo@example.org').getByText('Billing').waitFor();
    await open(other, '/usage');
    await heading(other, 'Usage').waitFor();
    expect(await pages()).toEqual(expect.arrayContaining(['Overview', 'Keys', 'Usage']));
    expect(await pages()).toHaveLength(4);
    await open(other, '/keys');
    await button(other, 'Actions for e2e').click();
    await other.page.getByRole('menuitem').first().waitFor();
    expect(await other.page.getByRole('menuitem').allTextContents()).toEqual(['View usage']);
    await open(other, '/');
    await other.page.getByText('Nothing needs attention').waitFor();
    expect(await other.inspect('overview-billing')).toEqual([]);
    await setRole(ada, HOSTILE, 'Member');
    await rowOf(ada, 'mo@example.org').getByText('Member').waitFor();
  });

  it('makes a link for a new password, and signs out everywhere', async () => {
    await act(ada, HOSTILE, 'Reset password');
    await button(ada, 'Create reset link').click();
    const link = await takeLink(ada);
    await open(other, '/keys');
    await heading(other, 'Keys').waitFor();
    await come(other, link, '');
    await openPage(other.page, 'Playground');
    // Else the page may learn it before the click.
    const letGo = await holdRequests(other.page);
    await act(ada, HOSTILE, 'Sign out everywhere');
    await button(ada, 'Sign out').last().click();
    await ada.page.getByText('is signed out everywhere.').waitFor();
    await menuLink(other.page, 'Tasks').click();
    await letGo();
    await heading(other, 'Sign in').waitFor();
  });

  it('tells an open page of somebody who is disabled that they are signed out', async () => {
    await other.page.getByLabel('Email').fill('mo@example.org');
    await other.page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await button(other, 'Sign in').click();
    // Where the session ended.
    await heading(other, 'Tasks').waitFor();
    await openPage(other.page, 'Playground');
    const letGo = await holdRequests(other.page);
    await act(ada, HOSTILE, 'Disable');
    expect(await ada.inspect('team-disable')).toEqual([]);
    await button(ada, 'Disable').click();
    await rowOf(ada, 'mo@example.org').getByText('disabled', { exact: true }).waitFor();
    expect(await ada.inspect('team-disabled')).toEqual([]);
    await menuLink(other.page, 'Usage').click();
    await letGo();
    await other.page.getByText('You are signed out').waitFor();
    await heading(other, 'Sign in').waitFor();
    expect(await other.inspect('signed-out')).toEqual([]);
    await act(ada, HOSTILE, 'Enable');
    await button(ada, 'Enable').click();
    await rowOf(ada, 'mo@example.org').getByText('disabled', { exact: true }).waitFor({ state: 'detached' });
  });

  it('asks for a code of an authenticator app once it is set up, until an admin resets it', async () => {
    const { page } = other;
    const signIn = async (): Promise<void> => {
      await page.getByLabel('Email').fill('mo@example.org');
      await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
      await button(other, 'Sign in').click();
    };
    await open(other, '/sign-in');
    await signIn();
    await heading(other, 'Usage').waitFor();
    await open(other, '/account');
    await button(other, 'Set up').click();
    await page.getByRole('img', { name: 'QR code for your authenticator app' }).waitFor();
    expect(await other.inspect('two-factor-set-up')).toEqual([]);
    const secret = (await page.getByTestId('totp-secret').textContent())!.replaceAll(' ', '');
    await page.getByRole('textbox', { name: 'Code' }).fill(totpCode(secret, Math.floor(Date.now() / 30_000)));
    await button(other, 'Turn on').click();
    await page.getByTestId('recovery-codes').waitFor();
    const codes = await page.getByTestId('recovery-codes').locator('> *').allTextContents();
    expect(codes).toHaveLength(10);
    expect(await other.inspect('two-factor-recovery-codes')).toEqual([]);
    const downloading = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download' }).click();
    const download = await downloading;
    expect(download.suggestedFilename()).toBe('darkroom-recovery-codes.txt');
    expect(await readFile(await download.path(), 'utf8')).toContain(codes.join('\n'));
    await button(other, 'I’ve saved them').click();
    await page.getByTestId('recovery-codes').waitFor({ state: 'detached' });
    await page.getByText('10 recovery codes left').waitFor();
    expect(await page.content()).not.toContain(codes[0]);
    expect(await other.inspect('two-factor-on')).toEqual([]);
    await button(other, 'Turn off').click();
    await page.getByLabel('Current password').last().waitFor();
    await page.getByText('Six digits from your authenticator app, or a recovery code').waitFor();
    expect(await other.inspect('two-factor-turn-off')).toEqual([]);
    await button(other, 'Sign out').click();
    await heading(other, 'Sign in').waitFor();
    await signIn();
    await heading(other, 'Two-factor authentication').waitFor();
    await page.getByRole('textbox', { name: 'Code' }).fill('000000');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('The code is incorrect or was already used.').waitFor();
    expect(await page.getByRole('alert').textContent()).not.toContain('req_');
    expect(await other.inspect('two-factor-sign-in')).toEqual([]);
    await page.getByRole('textbox', { name: 'Code' }).fill(codes[0]!);
    await button(other, 'Continue').click();
    await heading(other, 'Overview').waitFor();
    await open(ada, '/team');
    await rowOf(ada, 'mo@example.org').getByText('Password, authenticator app', { exact: true }).waitFor();
    await act(ada, HOSTILE, 'Reset two-factor authentication');
    expect(await ada.inspect('team-reset-two-factor')).toEqual([]);
    await button(ada, 'Reset').click();
    await ada.page.getByText('Two-factor authentication is off for').waitFor();
    await open(other, '/account');
    await button(other, 'Set up').waitFor();
  });

  it('signs in with a passkey alone, at the address where browsers have them', async () => {
    const { page } = other;
    await page.getByText('Browsers don’t allow passkeys at an IP address such as 127.0.0.1.').waitFor();
    expect(await button(other, 'Add passkey').count()).toBe(0);
    expect(await other.inspect('passkeys-elsewhere')).toEqual([]);
    const devtools = await page.context().newCDPSession(page);
    await devtools.send('WebAuthn.enable');
    const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
      },
    });
    const local = `${platform.url.replace('127.0.0.1', 'localhost')}/console`;
    await page.goto(`${local}/sign-in`);
    await button(other, 'Sign in with a passkey').click();
    await page.getByText('No passkey was used').waitFor();
    expect(await other.inspect('passkey-sign-in')).toEqual([]);
    await page.getByLabel('Email').fill('mo@example.org');
    await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await button(other, 'Sign in').click();
    await heading(other, 'Overview').waitFor();
    await page.goto(`${local}/account`);
    await button(other, 'Add passkey').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Laptop');
    await dialog.getByRole('textbox', { name: 'Current password' }).fill(PASSWORD);
    expect(await other.inspect('passkey-add')).toEqual([]);
    await button(other, 'Continue').click();
    await page.getByText('never used').waitFor();
    await act(other, 'Laptop', 'Rename');
    await dialog.getByLabel('Name').fill(HOSTILE);
    await button(other, 'Save').click();
    await button(other, `Actions for ${HOSTILE}`).waitFor();
    expect(await other.inspect('passkeys')).toEqual([]);
    await button(other, 'Sign out').click();
    await button(other, 'Sign in with a passkey').click();
    await heading(other, 'Overview').waitFor();
    await page.goto(`${local}/account`);
    await page.getByText('last used').waitFor();
    await act(other, HOSTILE, 'Remove');
    expect(await other.inspect('passkey-remove')).toEqual([]);
    await button(other, 'Remove passkey').click();
    await page.getByText('Passkey removed.').waitFor();
    expect(await button(other, `Actions for ${HOSTILE}`).count()).toBe(0);
    await button(other, 'Sign out').click();
    await button(other, 'Sign in with a passkey').click();
    await page.getByText('This passkey was not accepted.').waitFor();
    await devtools.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId });
    await devtools.detach();
  });

  it('changes one’s own name, and that of the account', async () => {
    await open(ada, '/account');
    await ada.page.getByLabel('Your name').fill('Ada L.');
    await button(ada, 'Change name').click();
    await menu(ada).getByRole('link', { name: 'Ada L.' }).waitFor();
    await openPage(ada.page, 'Team');
    await button(ada, 'Rename').click();
    await ada.page.getByRole('textbox', { name: 'Name' }).fill(HOSTILE);
    await button(ada, 'Save').click();
    await menu(ada).getByText(HOSTILE).waitFor();
  });

  it('makes a second account, which draws and sees nothing of the first', async () => {
    await openPage(ada.page, 'Playground');
    await ada.page.getByLabel('Prompt').fill('The secret of the first account');
    await button(ada, /^Generate/).click();
    await ada.page.getByRole('img', { name: 'The secret of the first account' }).waitFor();
    await menu(ada).getByRole('link', { name: 'Accounts' }).click();
    await button(ada, 'Create account').click();
    await ada.page.getByRole('textbox', { name: 'Name' }).fill(ACCOUNT);
    await ada.page.getByLabel('Owner email').fill('grace@example.org');
    await ada.page.getByLabel('Budget', { exact: true }).fill('25');
    expect(await ada.inspect('account-form')).toEqual([]);
    await button(ada, 'Create account').last().click();
    const link = await takeLink(ada);
    await rowOf(ada, ACCOUNT).getByText('no owner yet').waitFor();
    expect(await ada.inspect('accounts')).toEqual([]);

    await come(await fresh(), link, 'Grace');
    await openPage(other.page, 'Keys');
    await button(other, 'Create key').first().click();
    await other.page.getByRole('textbox', { name: 'Name' }).fill('shop');
    await button(other, 'Create key').last().click();
    const secret = (await other.page.getByTestId('secret').textContent())!;
    await button(other, 'I’ve saved it').click();
    expect((await platform.call('/v1/models', { key: secret })).status).toBe(200);
    await openPage(other.page, 'Playground');
    await other.page.getByLabel('Prompt').fill('A boat of the second account');
    await button(other, /^Generate/).click();
    await other.page.getByRole('img', { name: 'A boat of the second account' }).waitFor();
    await open(other, '/tasks');
    await other.page.getByRole('link', { name: 'A boat of the second account' }).first().waitFor();
    expect(await other.page.getByText('The secret of the first account').count()).toBe(0);
    expect(await menu(other).getByRole('link', { name: 'Accounts' }).count()).toBe(0);
    await openPage(other.page, 'Team');
    await rowOf(other, 'grace@example.org').waitFor();
    await other.page.getByText('Set by the operator of this installation').waitFor();
    expect(await other.page.getByText('mo@example.org').count()).toBe(0);
    expect(await other.inspect('team-second')).toEqual([]);
  });

  it('changes the budget of an account, disables it and enables it', async () => {
    await open(ada, '/accounts');
    expect(await ada.page.getByText('A boat of the second account').count()).toBe(0);
    await act(ada, ACCOUNT, 'Set budget');
    expect(await ada.inspect('account-budget')).toEqual([]);
    await ada.page.getByLabel('Budget', { exact: true }).fill('40');
    await button(ada, 'Save').click();
    await rowOf(ada, ACCOUNT).getByText('of $40.00/month').waitFor();
    await act(ada, ACCOUNT, 'Disable');
    expect(await ada.inspect('account-disable')).toEqual([]);
    await button(ada, 'Disable account').click();
    await rowOf(ada, ACCOUNT).getByText('disabled', { exact: true }).waitFor();
    const usage = menu(other).getByRole('link', { name: 'Usage' });
    await usage.click({ timeout: 10_000 }).catch(() => undefined); // The page may notice before the click.
    await heading(other, 'Sign in').waitFor();
    await act(ada, ACCOUNT, 'Enable');
    await button(ada, 'Enable account').click();
    await rowOf(ada, ACCOUNT).getByText('disabled', { exact: true }).waitFor({ state: 'detached' });
    await button(ada, `Actions for ${HOSTILE}`).click();
    await ada.page.getByRole('menuitem', { name: 'Rename' }).waitFor();
    expect(await ada.page.getByRole('menuitem', { name: 'Disable' }).count()).toBe(0);
    await ada.page.keyboard.press('Escape');
    await act(ada, ACCOUNT, 'Invite admin');
    await ada.page.getByLabel('Email').fill('hal@example.org');
    await button(ada, 'Create invitation').click();
    expect(await takeLink(ada)).toMatch(/^\/invite#token=/);
  });

  it('joins another account with the sign-in in use, and switches between them', async () => {
    await act(ada, ACCOUNT, 'Invite admin');
    await ada.page.getByLabel('Email').fill('ada@elsewhere.example');
    await button(ada, 'Create invitation').click();
    const link = await takeLink(ada);
    await open(await fresh(), link);
    await button(other, 'Sign in to accept').waitFor();
    expect(await other.inspect('invite')).toEqual([]);
    await button(other, 'Sign in to accept').click();
    await heading(other, 'Sign in').waitFor();
    await other.page.getByLabel('Email').fill('ada@example.org');
    await other.page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await button(other, 'Sign in').click();
    await button(other, 'Join as Ada L.').waitFor();
    expect(await other.inspect('invite-signed-in')).toEqual([]);
    await button(other, 'Join as Ada L.').click();
    await heading(other, 'Overview').waitFor();
    await menu(other).getByText(ACCOUNT).waitFor();
    expect(await menu(other).getByRole('link', { name: 'Accounts' }).count()).toBe(0);
    await button(other, /^Switch account/).click();
    const choice = (name: string) => other.page.getByRole('menuitem').filter({ hasText: name });
    await choice(HOSTILE).waitFor();
    expect(await choice(ACCOUNT).getAttribute('aria-current')).toBe('true');
    expect(await other.inspect('account-switch')).toEqual([]);
    await choice(HOSTILE).click();
    await menu(other).getByRole('link', { name: 'Accounts' }).waitFor();
    await menu(other).getByText(HOSTILE).waitFor();
    // A tab of the account before goes along.
    const tab = await other.page.context().newPage();
    await tab.goto('/console/team');
    await tab.getByRole('row').filter({ hasText: 'mo@example.org' }).waitFor();
    await button(other, /^Switch account/).click();
    await choice(ACCOUNT).click();
    await tab.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    await tab.getByRole('navigation', { name: 'Pages' }).getByText(ACCOUNT).waitFor();
    await tab.close();
  });

  it('leaves an account once its name is typed, but not as its last owner', async () => {
    await open(ada, '/account');
    await ada.page.getByText('You are the last owner of').waitFor();
    expect(await button(ada, 'Leave account').count()).toBe(0);
    expect(await ada.inspect('account-last-owner')).toEqual([]);
    await open(other, '/account');
    await button(other, 'Leave account').click();
    const leave = other.page.getByRole('dialog').getByRole('button', { name: 'Leave account' });
    await other.page.getByText('Your sign-in stays for your other accounts.').waitFor();
    expect(await leave.isDisabled()).toBe(true);
    expect(await other.inspect('account-leave')).toEqual([]);
    await other.page.getByLabel('Type the name to confirm').fill(ACCOUNT);
    await leave.click();
    await other.page.getByText(`You left ${ACCOUNT}.`).waitFor();
    await heading(other, 'Sign in').waitFor();
    await other.page.getByLabel('Email').fill('ada@example.org');
    await other.page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await button(other, 'Sign in').click();
    await menu(other).getByText(HOSTILE).waitFor();
    expect(await button(other, /^Switch account/).count()).toBe(0);
  });

  it('deletes a user and an account once their name is typed, and says before what goes', async () => {
    await open(ada, '/accounts');
    await act(ada, ACCOUNT, 'Delete');
    await ada.page.getByText('Kept: charges, usage, and the audit log.').waitFor();
    expect(await button(ada, 'Delete account').isDisabled()).toBe(true);
    expect(await ada.inspect('account-delete')).toEqual([]);
    await ada.page.getByLabel('Type the name to confirm').fill(ACCOUNT);
    await button(ada, 'Delete account').click();
    await rowOf(ada, ACCOUNT).getByText('deleted', { exact: true }).waitFor();
    expect(await button(ada, `Actions for ${ACCOUNT}`).count()).toBe(0);
    await open(ada, '/team');
    await act(ada, HOSTILE, 'Delete');
    await ada.page
      .getByText('two-factor authentication, recovery codes, passkeys, sessions, and unused links')
      .waitFor();
    expect(await ada.inspect('team-delete')).toEqual([]);
    await ada.page.getByLabel('Type the name to confirm').fill(HOSTILE);
    await button(ada, 'Delete user').click();
    await rowOf(ada, 'mo@example.org').waitFor({ state: 'detached' });
  });
});
