import { totpCode } from '#accounts/totp.js';
import { openScreen, type Screen } from '../support/chromium.js';
import { linkToken, PASSWORD } from '../support/console.js';
import { freePort } from '../support/free-port.js';
import { CLIENT, TestOpenIdProvider } from '../support/openid-provider.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';
import { startApi, type TestProcess } from '../support/processes.js';

const NAME = '<img src=x onerror="alert(1)"><script>alert(2)</script>';
const PROVIDER = 'Ex<b>ample SSO';

describe('signing in with OpenID Connect in a browser', () => {
  let op: TestOpenIdProvider;
  let platform: ApiPlatform;
  /** The same service where nobody has a password. */
  let strict: TestProcess;
  let screen: Screen;
  const page = (): Screen['page'] => screen.page;
  const heading = (name: string) => page().getByRole('heading', { name, level: 1 });
  const provider = () => page().getByText(`Continue with ${PROVIDER}`);

  beforeAll(async () => {
    const port = await freePort();
    const own = await freePort();
    const other = await freePort();
    // Another site than 127.0.0.1, as a provider is: the way back is a navigation from abroad.
    const issuer = `http://localhost:${port}`;
    op = await TestOpenIdProvider.start({
      issuer,
      port,
      publicClient: true,
      services: [`http://127.0.0.1:${own}`, `http://127.0.0.1:${other}`],
    });
    platform = await startApiPlatform({
      PORT: String(own),
      OIDC_ISSUER: issuer,
      OIDC_CLIENT_ID: CLIENT.id,
      OIDC_NAME: PROVIDER,
    });
    strict = await startApi({ ...platform.settings, PORT: String(other), PASSWORD_SIGN_IN: 'false' });
    screen = await openScreen(platform.url);
  });
  afterAll(async () => {
    await screen.close();
    await strict.stop();
    await platform.close();
    await op.close();
  });
  afterEach(async () => {
    expect(screen.troubles).toEqual([]);
    expect(await page().locator('img[src="x"], main script').count()).toBe(0);
  });

  const open = async (url: string): Promise<void> => {
    await page().goto('about:blank');
    await page().goto(url);
    await page().waitForLoadState('networkidle');
  };

  /** Error codes of calls that the page makes with empty bodies. */
  const refusalsOf = (paths: readonly string[]): Promise<unknown> =>
    page().evaluate(
      (names) =>
        Promise.all(
          names.map(async (name) => {
            const headers = { 'x-darkroom-csrf': '1', 'content-type': 'application/json' };
            const answer = await fetch(`/console/api/${name}`, { method: 'POST', body: '{}', headers });
            return ((await answer.json()) as { error: { code: string } }).error.code;
          }),
        ),
      paths,
    );

  it('says on the way back what went wrong while there is no admin yet', async () => {
    op.denial = NAME;
    const token = await linkToken(platform, { purpose: 'first_admin' });
    await open(`${platform.url}/console/first-run#token=${token}`);
    await provider().click();
    await page().getByRole('alert').getByText(`You did not finish signing in with ${PROVIDER}.`).waitFor();
    await heading('Almost there').waitFor();
    expect(await screen.inspect('first-run-denied')).toEqual([]);
    op.denial = undefined;
  });

  it('makes the first admin by the one-time link, without a password where there are none', async () => {
    op.person = { sub: 'ada', email: 'ada@example.org', email_verified: true, name: NAME };
    const token = await linkToken(platform, { purpose: 'first_admin' });
    await open(`${strict.url}/console/first-run#token=${token}`);
    await provider().waitFor();
    expect(await page().getByLabel('Password').count()).toBe(0);
    expect(await screen.inspect('first-run-provider')).toEqual([]);
    await provider().click();
    await heading('Overview').waitFor();
    expect(page().url()).toBe(`${strict.url}/console/`);
    await page().getByRole('link', { name: NAME }).getByText('Profile').click();
    await heading('Profile').waitFor();
    await page().getByText(`You sign in with ${PROVIDER}.`).waitFor();
    // Bookmarks of the address it had before still lead here.
    await open(`${strict.url}/console/account`);
    await heading('Profile').waitFor();
    expect(page().url()).toBe(`${strict.url}/console/profile`);
    expect(await page().getByText('Change password').count()).toBe(0);
    expect(await screen.inspect('account-provider')).toEqual([]);
    expect(await refusalsOf(['password'])).toEqual(['not_permitted']);
    await page().getByRole('button', { name: 'Sign out' }).click();
    await heading('Sign in').waitFor();
  });

  it('shows the button alone where nobody has a password, and refuses passwords there', async () => {
    await open(`${strict.url}/console/sign-in`);
    await provider().waitFor();
    expect(await page().getByLabel('Password').count()).toBe(0);
    expect(await screen.inspect('sign-in-provider-only')).toEqual([]);
    const calls = ['sign-in', 'join', 'first-admin', 'reset-password'];
    expect(await refusalsOf(calls)).toEqual(calls.map(() => 'not_permitted'));
  });

  it('comes back from the provider signed in, and says in words why not', async () => {
    await open(`${platform.url}/console/sign-in`);
    await provider().waitFor();
    await page().getByLabel('Email').waitFor();
    expect(await screen.inspect('sign-in-provider')).toEqual([]);
    op.person = { sub: 'eve', email: 'eve@example.org', email_verified: true, name: 'Eve' };
    await page().context().clearCookies();
    await provider().click();
    await page().getByRole('alert').getByText('You have no account here yet.').waitFor();
    expect(await screen.inspect('sign-in-refused')).toEqual([]);
    op.person = { sub: 'ada', email: 'ada@example.org', email_verified: true };
    await page().context().clearCookies();
    await provider().click();
    await heading('Overview').waitFor();
    await page().getByRole('button', { name: 'Sign out' }).click();
    await heading('Sign in').waitFor();
  });

  it('says who can create a reset link where no email is sent', async () => {
    await open(`${platform.url}/console/sign-in`);
    await page().getByRole('link', { name: 'Forgot password?' }).click();
    await page().getByText('Ask an owner or admin of your account for a reset link.').waitFor();
    await page().getByText('npm run admin -- reset-password').waitFor();
    // What is not known yet is not said.
    let answer: () => void = () => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    await page().route('**/console/api/sign-in', async (route) => {
      await answered;
      await route.continue();
    });
    await page().reload();
    await heading('Reset password').waitFor();
    expect(await page().getByText('This installation sends no email.').count()).toBe(0);
    answer();
    await page().getByText('This installation sends no email.').waitFor();
    await page().unroute('**/console/api/sign-in');
    expect(await screen.inspect('forgot-password-without-email')).toEqual([]);
    await page().getByRole('link', { name: 'Back to sign-in' }).click();
    await heading('Sign in').waitFor();
  });

  it('shows no word of the address bar', async () => {
    await open(`${platform.url}/console/sign-in?refused=${encodeURIComponent(NAME)}`);
    await page().getByRole('alert').getByText(`Could not sign in with ${PROVIDER}.`).waitFor();
    expect(await page().getByRole('alert').textContent()).not.toContain('alert(');
  });

  it('takes an invitation with a password as well, and shows both ways in the profile', async () => {
    const token = await linkToken(platform, { purpose: 'invite', email: 'bob@example.org', role: 'member' });
    await open(`${platform.url}/console/invite#token=${token}`);
    await provider().waitFor();
    await page().getByText('You’re invited to join this account.').waitFor();
    expect(await page().getByLabel('Email').inputValue()).toBe('bob@example.org');
    expect(await screen.inspect('invite-provider')).toEqual([]);
    await page().getByLabel('Your name').fill('Bob');
    await page().getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await page().getByRole('button', { name: 'Join' }).click();
    await page().getByRole('link', { name: 'Bob' }).click();
    await page().getByText('You sign in with your password.').waitFor();
    expect(await screen.inspect('account-both')).toEqual([]);
  });

  it('turns two-factor authentication on with one setup, whatever is read anew behind it', async () => {
    const setups: string[] = [];
    page().on('request', (request) => {
      if (request.method() === 'POST' && request.url().endsWith('/console/api/two-factor')) setups.push(request.url());
    });
    await page().setViewportSize({ width: 390, height: 844 });
    await page().getByRole('button', { name: 'Set up' }).click();
    const secret = (await page().getByTestId('totp-secret').textContent())!.replaceAll(' ', '');
    await page()
      .getByRole('textbox', { name: 'Code' })
      .fill(totpCode(secret, Math.floor(Date.now() / 30_000)));
    await page().getByRole('button', { name: 'Turn on' }).click();
    // Nothing else on the page can be used until they are saved.
    const dialog = page().getByRole('dialog', { name: 'Save your recovery codes' });
    const codes = dialog.getByTestId('recovery-codes').locator('> *');
    await codes.first().waitFor();
    await page().keyboard.press('Escape');
    await codes.first().waitFor();
    const one = await codes.nth(0).boundingBox();
    const two = await codes.nth(1).boundingBox();
    expect([two!.y, two!.x > one!.x, two!.height]).toEqual([one!.y, true, one!.height]);
    expect(await screen.inspect('recovery-codes')).toEqual([]);
    await page().setViewportSize({ width: 1280, height: 800 });
    await page().getByRole('button', { name: 'I’ve saved them' }).click();
    await page().getByText('10 recovery codes left').waitFor();
    await page().waitForLoadState('networkidle');
    expect(setups).toHaveLength(1);
  });

  it('says what is wrong with a password once, beside the field it is about', async () => {
    const field = (name: string) => page().getByRole('textbox', { name, exact: true });
    await field('Current password').fill('not this one');
    await field('New password').fill(`${PASSWORD} 2`);
    await page().getByRole('button', { name: 'Change password' }).click();
    await page().getByText('The current password is incorrect.').waitFor();
    expect(await page().getByRole('alert').count()).toBe(0);
    await field('Current password').fill(PASSWORD);
    await field('New password').fill('password1234');
    await page().getByText('Too easy to guess').waitFor();
    await page().getByRole('button', { name: 'Change password' }).click();
    await page().getByText('This password is too easy to guess.').waitFor();
    expect(
      await page()
        .getByText(/too easy to guess/i)
        .count(),
    ).toBe(1);
    expect(await screen.inspect('account-weak-password')).toEqual([]);
    await page().getByRole('button', { name: 'Show password' }).last().click();
    expect(await field('New password').getAttribute('type')).toBe('text');
    await page().getByRole('button', { name: 'Hide password' }).click();
    expect(await field('New password').getAttribute('type')).toBe('password');
  });

  it('says where passkeys work and why not here, before the sign-in too', async () => {
    await page().getByRole('button', { name: 'Sign out' }).click();
    await heading('Sign in').waitFor();
    await page().getByText('Browsers don’t allow passkeys at an IP address such as 127.0.0.1.').waitFor();
    const address = `${platform.url.replace('127.0.0.1', 'localhost')}/console/sign-in`;
    await page().getByRole('link', { name: address }).click();
    await page().getByRole('button', { name: 'Sign in with a passkey' }).waitFor();
    expect(page().url()).toBe(address);
  });

  it('tells a link that was used from one that has expired, and what to do when its secret is gone', async () => {
    const used = await linkToken(platform, { purpose: 'invite', email: 'uma@example.org', role: 'member' });
    const late = await linkToken(platform, { purpose: 'invite', email: 'lea@example.org', role: 'member' });
    await platform.pool.query(`UPDATE sign_in_links SET used_at = now() WHERE email = 'uma@example.org'`);
    await platform.pool.query(
      `UPDATE sign_in_links SET expires_at = now() - interval '1 s' WHERE email = 'lea@example.org'`,
    );
    for (const [token, reason] of [
      [used, 'It was already used.'],
      [late, 'It has expired.'],
    ] as const) {
      await open(`${platform.url}/console/invite#token=${token}`);
      await heading('Link no longer works').waitFor();
      await page().getByText(reason).waitFor();
      await page().getByText('Ask an owner or admin for a new one.', { exact: true }).waitFor();
    }
    const token = await linkToken(platform, { purpose: 'invite', email: 'rob@example.org', role: 'member' });
    await open(`${platform.url}/console/invite#token=${token}`);
    await provider().waitFor();
    await page().reload();
    await heading('Open the link again').waitFor();
    await page().getByText('Don’t have the link anymore? Ask an owner or admin for a new one.').waitFor();
    expect(await screen.inspect('link-reloaded')).toEqual([]);
  });
});
