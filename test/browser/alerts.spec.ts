import { waitUntil } from '#embedded/wait-until.js';
import { becomes, openPage, openScreen, type Screen } from '../support/chromium.js';
import { linkToken, PASSWORD, signInInvited } from '../support/console.js';
import { startWebhookPlatform, type WebhookPlatform } from '../support/webhook-platform.js';

describe('alerts and usage in a browser', () => {
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
    room = await startWebhookPlatform({ HEALTH_CHECK_INTERVAL_MS: '300', WEBHOOK_TIMEOUT_MS: '60000' });
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
    await openPage(page(), 'Alerts');
    await page().getByText('No alerts are firing.').waitFor();
    // What everybody needs to know is on from the start.
    for (const name of ['Budget threshold', 'Webhook failing', 'Provider down', 'Queue wait'])
      await button(`Turn off ${name}`).waitFor();
    await button('Turn on Failure rate of all accounts').waitFor();
    await region('Rules')
      .getByText('When the account or a key reaches 80% or 100% of its budget. Shown only in the console')
      .waitFor();
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
    await becomes(() => page().getByRole('option').allTextContents(), ['Webhook', 'Slack']);
    await page().getByRole('option', { name: 'Slack' }).click();
    await page().getByLabel('URL').fill(room.receiver.url('/services/T0/B0/secret-of-slack'));
    await page().getByRole('dialog').getByRole('button', { name: 'Add channel' }).click();
    await region('Channels').getByText('Not tested').waitFor();
    await page().getByRole('dialog').waitFor({ state: 'detached' });
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
    await openPage(page(), 'Overview');
    await region('Needs attention')
      .getByText(/^Alerts don’t arrive at Slack https:\/\/127.0.0.1:\d+\/…lack\. Test alert: Answered 404\.$/)
      .click();
    await region('Channels').getByText('Test alert: Answered 404.').waitFor();
    room.receiver.answer('/services/T0/B0/secret-of-slack', 200);
  });

  it('turns an alert on with one click, edits it, and shows it while it fires, also on the overview', async () => {
    await button('Edit Budget threshold').click();
    const thresholds = page().getByLabel('Thresholds (%)');
    await thresholds.fill('many');
    await button('Save').click();
    await page().getByText('Enter up to five whole numbers').waitFor();
    await page().getByRole('heading', { name: 'Edit alert: Budget threshold' }).waitFor();
    expect(await screen.inspect('alert-rule-form')).toEqual([]);
    await thresholds.fill('70, 90');
    await button('Save').click();
    await region('Rules').getByText('When the account or a key reaches 70% or 90% of its budget.').waitFor();
    await button('Turn off Budget threshold').click();
    await button('Turn on Budget threshold').waitFor();
    await spend(9_500_000);
    await button('Turn on Budget threshold').press('Enter');
    await button('Turn off Budget threshold').waitFor();
    await becomes(focused, 'Turn off Budget threshold');
    const [message] = (await room.receiver.arrived('/services/T0/B0/secret-of-slack', 3)).slice(2);
    expect(message!.body).toContain('This account has used 95% of its budget');
    await open('/alerts');
    await region('Firing now').getByText('This account has used 95% of its budget').waitFor();
    // The menu of every page counts it.
    const counted = page().getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Alerts 1 firing' });
    await counted.waitFor();
    const ending = 'Clears once the value has been more than 10% below the lowest threshold for 5 minutes.';
    await region('Firing now').getByText(ending).waitFor();
    expect(await screen.inspect('alerts-firing')).toEqual([]);
    await region('Firing now').getByRole('link', { name: 'Show cause' }).click();
    await page().getByRole('heading', { name: 'Usage', level: 1 }).waitFor();
    await counted.waitFor();
    // The alert and the notice of the same budget are one.
    await open('/');
    const notices = region('Needs attention').getByRole('link', { name: /This account has used/ });
    await becomes(() => notices.allTextContents(), ['This account has used 95% of its budget.']);
    await open('/alerts');
    await button('Acknowledge: This account has used 95% of its budget').click();
    await page().getByText('Alert acknowledged.').waitFor();
    await region('Firing now')
      .getByText('Acknowledged by Ada just now. Not repeated until it has ended and fires again.')
      .waitFor();
    expect(await screen.inspect('alerts-acknowledged')).toEqual([]);
    await open('/');
    await region('Needs attention')
      .getByRole('link', { name: 'This account has used 95% of its budget (acknowledged by Ada).' })
      .waitFor();
    // It fires on for a while after its cause is over, and says until when.
    await spend(0);
    const isClearing = async () =>
      (await room.platform.pool.query('SELECT id FROM alert_events WHERE clear_since IS NOT NULL')).rowCount === 1;
    expect(await waitUntil(isClearing, { timeoutMs: 20_000 })).toBe(true);
    await open('/alerts');
    const clearing = region('Firing now').getByText(
      /^Back below the threshold; this alert clears at .+ if that lasts\.$/,
    );
    await clearing.waitFor();
    await spend(9_500_000);
  });

  it('lists what is over, and tells all of it in the audit log', async () => {
    await open('/alerts');
    await button('Turn off Budget threshold').press('Enter');
    await button('Turn on Budget threshold').waitFor();
    await becomes(focused, 'Turn on Budget threshold');
    await region('History')
      .getByRole('button', { name: /This account has used 95%/ })
      .click();
    await region('History').getByText('The alert was turned off.').waitFor();
    await page().getByRole('link', { name: 'Alerts', exact: true }).waitFor();
    expect(await screen.inspect('alerts-past')).toEqual([]);
    // On a phone, no cell is hidden or cut off, and a message covers nothing at the bottom.
    await page().setViewportSize({ width: 390, height: 844 });
    await region('Rules').getByRole('row').filter({ hasText: 'Queue wait' }).getByText('On', { exact: true }).waitFor();
    const isWhole = `[...document.querySelectorAll('main td')].every((cell) => cell.getBoundingClientRect().right <= innerWidth)`;
    expect(await waitUntil(() => page().evaluate<boolean>(isWhole), { timeoutMs: 30_000 })).toBe(true);
    await button(/^Actions for Slack/).click();
    await page().getByRole('menuitem', { name: 'Remove' }).click();
    await button('Remove channel').click();
    const message = await page().getByText('Channel removed.').boundingBox();
    expect(message!.y + message!.height).toBeLessThan(200);
    await page().setViewportSize({ width: 1280, height: 860 });
    await page().getByText('No channels yet').waitFor();
    await open('/audit?kind=alerts');
    await page().getByText('turned off the alert “budget”').first().waitFor();
    await page().getByText('acknowledged the alert “This account has used 95% of its budget”').waitFor();
    await page()
      .getByText(/added the alert channel “https:\/\/127.0.0.1:\d+\/…lack”/)
      .waitFor();
  });

  it('shows any time of usage by filters in the address, and leads from a bar to its tasks', async () => {
    await room.platform.pool.query(
      `INSERT INTO usage_rollups (account_id, step, time, kind, api_key_id, model, provider, outcome, currency, bucket, count, images,
         spend_micros, input_tokens, output_tokens, latency_ms)
       SELECT 'acct_default', 'day', date_trunc('day', now(), 'UTC') - n * interval '1 day', 'image', 'key_gone', model, 'sandbox',
         outcome, 'USD', bucket, 60, images, images * 1000, 0, 0, (bucket > 0)::int * 60000
       FROM unnest(ARRAY[20, 18, 17]) AS n, unnest(ARRAY['alpha', 'beta']) AS model,
         (VALUES ('completed', 40, 60), ('failed', -1, 0)) AS outcomes (outcome, bucket, images)`,
    );
    const chart = (name: string) => page().getByRole('region', { name, exact: true });
    const row = page().getByRole('region', { name: 'Totals' }).getByRole('row').filter({ hasText: 'alpha' });
    const colorOfRow = async () => (await row.locator('[style*="background-color"]').getAttribute('style'))!;
    await open('/usage?days=30');
    // Older than tasks are kept, as "30 days" promises; the percentile is that of all images together.
    await becomes(
      () => row.getByRole('cell').allTextContents(),
      [...['alpha', '180', '180', '$0.18', '0', '1.0 s', '1.0 s']],
    );
    await page().getByText('Data starts on').waitFor();
    expect(await screen.inspect('usage-month')).toEqual([]);
    const color = await colorOfRow();
    await open('/usage?days=90&model=alpha');
    expect(await colorOfRow()).toBe(color);
    await page().getByText('beta').waitFor({ state: 'detached' });
    // Every tick of the axis, and a gap where a day is missing.
    await chart('Images').locator('.recharts-bar-rectangle path').first().waitFor();
    const ticks = chart('Images').locator('.recharts-yAxis-tick-labels .recharts-cartesian-axis-tick-value');
    await becomes(() => ticks.allTextContents(), ['0', '15', '30', '45', '60']);
    const line = chart('Latency (p95)').locator('path.recharts-line-curve');
    await becomes(async () => (await line.getAttribute('d'))!.match(/M/g)?.length, 2);
    const bar = chart('Failures').locator('.recharts-bar-rectangle path').first();
    await bar.hover();
    const tooltip = chart('Failures').locator('.recharts-tooltip-wrapper');
    await tooltip.getByText('alpha').waitFor();
    // Nothing covers it, such as the names of the series.
    const isCovered = `(() => {
      const { x, y, width, height } = document.querySelector('[aria-label="Failures"] .recharts-tooltip-wrapper').getBoundingClientRect();
      return document.elementFromPoint(x + width / 2, y + height / 2).closest('[aria-label="Legend"], .recharts-legend-wrapper') !== null;
    })()`;
    await becomes(() => page().evaluate<boolean>(isCovered), false);
    await bar.click();
    await page().getByRole('heading', { name: 'Tasks', level: 1 }).waitFor();
    const day = (n: number) => new Date(new Date().setUTCHours(0, 0, 0, 0) - n * 86_400_000).toISOString();
    expect(Object.fromEntries(new URL(page().url()).searchParams)).toEqual({
      model: 'alpha',
      status: 'failed',
      from: day(20),
      to: day(19),
    });
    await page().getByText('No matching tasks').waitFor();
    // Bucket 55 ends at 13.8 s. A line has its first day named as well, and no tick of its axis is rounded.
    await room.platform.pool.query(
      `INSERT INTO usage_rollups (account_id, step, time, kind, api_key_id, model, provider, outcome, currency, bucket, count, images,
         spend_micros, input_tokens, output_tokens, latency_ms)
       VALUES ('acct_default', 'day', date_trunc('day', now(), 'UTC') - interval '9 days', 'image', 'key_gone', 'gamma', 'sandbox',
         'completed', 'USD', 55, 60, 60, 60000, 0, 0, 750000)`,
    );
    await open('/usage?days=30&model=gamma');
    const axis = (name: string) =>
      chart('Latency (p95)').locator(`.recharts-${name}-tick-labels .recharts-cartesian-axis-tick-value`);
    await becomes(
      () => axis('yAxis').allTextContents(),
      ['0 ms', '3.5 s', '7.0 s', '10.5 s', '14.0 s'].map((label) => label.replaceAll(' ', '\u00a0')),
    );
    const dayName = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
    const first = dayName.format(new Date(day(29))).replaceAll(' ', '\u00a0');
    await becomes(() => axis('xAxis').first().textContent(), first);
    await room.platform.pool.query(`DELETE FROM usage_rollups WHERE api_key_id = 'key_gone'`);
  });
});
