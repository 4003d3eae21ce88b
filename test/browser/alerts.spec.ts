import { waitUntil } from '#embedded/wait-until.js';
import { openScreen, type Screen } from '../support/chromium.js';
import { linkToken, PASSWORD, signInInvited } from '../support/console.js';
import { startWebhookPlatform, type WebhookPlatform } from '../support/webhook-platform.js';

describe('alerts in a browser', () => {
  let room: WebhookPlatform;
  let screen: Screen;
  const page = (): Screen['page'] => screen.page;
  const open = async (path: string): Promise<void> => {
    await page().goto(`/console${path}`);
    await page().waitForLoadState('networkidle');
  };
  const button = (name: string | RegExp) => page().getByRole('button', { name });
  const region = (name: string) => page().getByRole('region', { name });
  const focused = () => page().evaluate<string | null>(`document.activeElement.getAttribute('aria-label')`);
  const spend = (micros: number) =>
    room.platform.pool.query(
      `INSERT INTO budgets (owner_id, owner, limit_micros, period, spent_micros, period_start)
       VALUES ('acct_default', 'account', 10000000, 'total', $1, now())
       ON CONFLICT (owner_id) DO UPDATE SET spent_micros = $1`,
      [micros],
    );

  beforeAll(async () => {
    room = await startWebhookPlatform({ ALERT_EVALUATE_SECONDS: '1' });
    screen = await openScreen(room.platform.url);
    await open(`/first-run#token=${await linkToken(room.platform, { purpose: 'first_admin' })}`);
    await page().getByLabel('Your name').fill('Ada');
    await page().getByLabel('Email').fill('ada@example.org');
    await page().getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await button('Create account').click();
    await page().getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
  });
  afterAll(async () => {
    await screen.close();
    await room.close();
  });
  afterEach(() => expect(screen.troubles).toEqual([]));

  it('adds a channel, says what is wrong with a private address, and shows how a test went', async () => {
    await page().getByRole('link', { name: 'Alerts' }).click();
    await page().getByText('All alerts are off.').waitFor();
    await page().getByText('No channels yet').waitFor();
    await page().getByText('No past alerts').waitFor();
    expect(await screen.inspect('alerts-empty')).toEqual([]);
    await button('Add channel').click();
    await page().getByLabel('URL').fill(`https://10.0.0.1:${room.receiver.port}/x`);
    await page().getByRole('dialog').getByRole('button', { name: 'Add channel' }).click();
    await page().getByText('The URL must point to a public address.').waitFor();
    const eve = await signInInvited(room.platform, { email: 'eve@example.org', role: 'admin' });
    const refused = await eve.call('/alerts/channels', { body: { kind: 'email', address: 'eve@example.org' } });
    expect(await refused.json()).toMatchObject({ error: { code: 'invalid_value', param: 'kind' } });
    await page().getByText('To send email, an operator has to set SMTP_URL.').waitFor();
    expect(await screen.inspect('alert-channel-form')).toEqual([]);
    await page().getByRole('combobox', { name: 'Kind' }).click();
    expect(await page().getByRole('option').allTextContents()).toEqual(['Webhook', 'Slack']);
    await page().getByRole('option', { name: 'Slack' }).click();
    await page().getByLabel('URL').fill(room.receiver.url('/services/T0/B0/secret-of-slack'));
    await page().getByRole('dialog').getByRole('button', { name: 'Add channel' }).click();
    await region('Channels').getByText('Not tested').waitFor();
    expect(await page().content()).not.toContain('secret-of-slack');

    const test = async () => {
      await button(/^Actions for Slack/).click();
      await page().getByRole('menuitem', { name: 'Send test alert' }).click();
    };
    await test();
    await region('Channels').getByText('Working').waitFor();
    await region('Channels').getByText('Test alert: Answered 200.').waitFor();
    room.receiver.answer('/services/T0/B0/secret-of-slack', 404);
    await test();
    await region('Channels').getByText('Test alert: Answered 404.').waitFor();
    room.receiver.answer('/services/T0/B0/secret-of-slack', 200);
  });

  it('turns an alert on with one click, edits it, and shows it while it fires, also on the overview', async () => {
    await button('Edit Budget threshold').click();
    const thresholds = page().getByLabel('Thresholds (%)');
    await thresholds.fill('many');
    await button('Save').click();
    await page().getByText('Enter up to five whole numbers').waitFor();
    expect(await screen.inspect('alert-rule-form')).toEqual([]);
    await thresholds.fill('70, 90');
    await button('Save').click();
    await region('Rules').getByText('When the account or a key reaches 70% or 90% of its budget.').waitFor();
    await spend(9_500_000);
    await button('Turn on Budget threshold').press('Enter');
    await button('Turn off Budget threshold').waitFor();
    expect(await focused()).toBe('Turn off Budget threshold');
    const [message] = (await room.receiver.arrived('/services/T0/B0/secret-of-slack', 3)).slice(2);
    expect(message!.body).toContain('This account has used 95% of its budget');
    await open('/alerts');
    await region('Firing now').getByText('This account has used 95% of its budget').waitFor();
    // The menu of every page counts it.
    const counted = page().getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Alerts 1 firing' });
    await counted.waitFor();
    expect(await screen.inspect('alerts-firing')).toEqual([]);
    await region('Firing now').getByRole('link', { name: 'Show cause' }).click();
    await page().getByRole('heading', { name: 'Usage', level: 1 }).waitFor();
    await counted.waitFor();
    // The alert and the notice of the same budget are one.
    await open('/');
    const notices = region('Needs attention').getByRole('link', { name: /This account has used/ });
    await notices.first().waitFor();
    expect(await notices.allTextContents()).toEqual(['This account has used 95% of its budget.']);
  });

  it('lists what is over, and tells all of it in the audit log', async () => {
    await open('/alerts');
    await button('Turn off Budget threshold').press('Enter');
    await button('Turn on Budget threshold').waitFor();
    expect(await focused()).toBe('Turn on Budget threshold');
    await region('History')
      .getByRole('button', { name: /This account has used 95%/ })
      .click();
    await region('History').getByText('The alert was turned off.').waitFor();
    await page().getByRole('link', { name: 'Alerts', exact: true }).waitFor();
    expect(await screen.inspect('alerts-past')).toEqual([]);
    // On a phone, no cell is hidden or cut off, and a message covers nothing at the bottom.
    await page().setViewportSize({ width: 390, height: 844 });
    await region('Rules')
      .getByRole('row')
      .filter({ hasText: 'Queue wait' })
      .getByText('Off', { exact: true })
      .waitFor();
    const isWhole = `[...document.querySelectorAll('main td')].every((cell) => cell.getBoundingClientRect().right <= innerWidth)`;
    expect(await waitUntil(() => page().evaluate<boolean>(isWhole), { timeoutMs: 10_000 })).toBe(true);
    await button(/^Actions for Slack/).click();
    await page().getByRole('menuitem', { name: 'Remove' }).click();
    await button('Remove channel').click();
    const message = await page().getByText('Channel removed.').boundingBox();
    expect(message!.y + message!.height).toBeLessThan(200);
    await page().setViewportSize({ width: 1280, height: 860 });
    await page().getByText('No channels yet').waitFor();
    await open('/audit?kind=alerts');
    await page().getByText('turned off the alert “budget”').waitFor();
    await page()
      .getByText(/added the alert channel “https:\/\/127.0.0.1:\d+\/…lack”/)
      .waitFor();
  });
});
