import { Webhook } from 'standardwebhooks';
import { waitUntil } from '#embedded/wait-until.js';
import { becomes, giveSession, openPage, openScreen, type Screen } from '../support/chromium.js';
import { linkToken, PASSWORD, signInInvited } from '../support/console.js';
import type { Platform } from '../support/platform.js';
import { startWebhookPlatform, type WebhookPlatform } from '../support/webhook-platform.js';
import type { Received, WebhookReceiver } from '../support/webhook-receiver.js';

const NAME = 'Ada <img src=x onerror="alert(1)"><script>alert(2)</script>';
const PATH = '/hooks/<svg/onload=alert(3)>"><script>alert(4)</script>?token=abc';
/** As it is sent: what a URL may not hold is escaped. */
const SENT_PATH = new URL(PATH, 'https://receiver.example').href.replace('https://receiver.example', '');

describe('webhooks and the audit log in a browser', () => {
  let room: WebhookPlatform;
  let platform: Platform;
  let receiver: WebhookReceiver;
  let screen: Screen;
  const page = (): Screen['page'] => screen.page;
  const open = async (path: string): Promise<void> => {
    await page().goto(`/console${path}`);
    await page().waitForLoadState('networkidle');
  };
  const button = (name: string | RegExp) => page().getByRole('button', { name });
  const heading = (name: string) => page().getByRole('heading', { name, level: 1 });
  const menu = async (item: string): Promise<void> => {
    await button(/^Actions for /).click();
    await page().getByRole('menuitem', { name: item }).click();
  };
  const delivery = (name: string | RegExp) =>
    page().getByRole('region', { name: 'Deliveries' }).getByRole('button', { name });
  const submit = async (): Promise<string> => {
    const body = { model: 'gpt-image-2', prompt: 'told of', resolution: '1k' };
    const answer = await platform.call('/v1/images/generations/async', { body });
    return answer.headers.get('x-task-id')!;
  };
  const verified = ({ body, headers }: Received, secret: string) => {
    const flat = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
    return new Webhook(secret).verify(body, flat);
  };

  beforeAll(async () => {
    room = await startWebhookPlatform({ WEBHOOK_RETRY_SECONDS: '600', WEBHOOK_TIMEOUT_MS: '60000' });
    ({ platform, receiver } = room);
    screen = await openScreen(platform.url);
    await open(`/first-run#token=${await linkToken(platform, { purpose: 'first_admin' })}`);
    await page().getByLabel('Your name').fill(NAME);
    await page().getByLabel('Email').fill('ada@example.org');
    await page().getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await button('Create account').click();
    await heading('Overview').waitFor();
  });
  afterAll(async () => {
    await screen.close();
    await room.close();
  });
  afterEach(async () => {
    expect(screen.troubles).toEqual([]);
    expect(await page().locator('img[src="x"], main script').count()).toBe(0);
  });

  it('adds an endpoint, and says what is wrong with an address that is private or not https', async () => {
    await openPage(page(), 'Webhooks');
    await page().getByText('No endpoints yet').waitFor();
    await page().getByText('No deliveries yet').waitFor();
    expect(await screen.inspect('webhooks-empty')).toEqual([]);
    await button('Add endpoint').first().click();
    const address = page().getByLabel('URL');
    for (const [url, trouble] of [
      [`https://10.0.0.1:${receiver.port}/x`, 'Operators can allow private networks with EGRESS_ALLOW_CIDRS.'],
      ['http://example.org/x', 'The URL must start with https://.'],
    ] as const) {
      await address.fill(url);
      await page().getByRole('dialog').getByRole('button', { name: 'Add endpoint' }).click();
      await page().getByText(trouble).waitFor();
    }
    await page().getByLabel('Task canceled').uncheck();
    expect(await screen.inspect('webhook-form')).toEqual([]);
    await address.fill(receiver.url(PATH));
    await page().getByRole('dialog').getByRole('button', { name: 'Add endpoint' }).click();
    await page().getByText('Task completed, Task failed').waitFor();
    expect(await page().getByText(receiver.url(PATH)).count()).toBeGreaterThan(0);
  });

  it('sends a test that the receiver can verify with the secret that is shown', async () => {
    await menu('Send test event');
    const [test] = await receiver.arrived(SENT_PATH);
    await delivery(/Delivered Test/).waitFor();
    expect(await page().content()).not.toContain('whsec_');
    await button('Show secret').click();
    const secret = (await page().getByTestId('webhook-secret').textContent())!;
    expect(verified(test!, secret)).toMatchObject({ type: 'webhook.test' });
    await button('Show sample code').click();
    expect(await page().getByRole('tabpanel').textContent()).toContain("from 'standardwebhooks'");
    expect(await screen.inspect('webhook-secret')).toEqual([]);
    await button('Hide secret').click();
    await button('Hide sample code').click();
    expect(await page().content()).not.toContain('whsec_');
  });

  it('shows how a real task is told of, how one fails, and sends that again', async () => {
    const good = await submit();
    await receiver.arrived(SENT_PATH, 2);
    await delivery(/Delivered Task completed/).waitFor();
    receiver.answer(SENT_PATH, (response) => response.writeHead(503).end('{"error":"<b>disk full</b>"}'));
    const bad = await submit();
    await receiver.arrived(SENT_PATH, 3);
    await delivery(/Retrying Task completed/).click();
    await page().getByText('Answered 503').waitFor();
    await page().getByText('{"error":"<b>disk full</b>"}', { exact: true }).waitFor();
    await page()
      .getByText(/Next attempt in \d+ minutes\./)
      .waitFor();
    await delivery(/Failed once, next try at \d+:\d+/).waitFor();
    const row = page().getByRole('region', { name: 'Endpoints' }).getByRole('row').nth(1);
    await row.getByText(/^Failing since \d+:\d+/).waitFor();
    await row.getByText('1 of 3 deliveries failed in 24 hours').waitFor();
    expect(await row.getByText('Active', { exact: true }).count()).toBe(0);
    await page().getByRole('link', { name: bad }).waitFor();
    await button('Show payload').click();
    const payload = page().getByLabel('payload', { exact: true });
    expect(JSON.parse((await payload.textContent())!)).toMatchObject({
      type: 'image.task.completed',
      data: { id: bad, status: 'completed' },
    });
    expect(await screen.inspect('webhooks')).toEqual([]);
    // On a phone, the time stands below what was sent, which has the width.
    await page().setViewportSize({ width: 390, height: 844 });
    const leftOf = async (text: RegExp) =>
      (await delivery(/Retrying Task completed/)
        .getByText(text)
        .boundingBox())!.x;
    const isBelow = async () => (await leftOf(/^(just now|.* ago)$/)) === (await leftOf(/^Task completed$/));
    expect(await waitUntil(isBelow, { timeoutMs: 30_000 })).toBe(true);
    await page().setViewportSize({ width: 1280, height: 860 });
    // The page of the task says the same.
    await page().getByRole('link', { name: bad }).click();
    await page()
      .getByRole('heading', { level: 1, name: /^(?!Webhooks$|Task$)/ })
      .waitFor();
    await page()
      .getByRole('button', { name: /Retrying Task completed/ })
      .click();
    await page().getByText('{"error":"<b>disk full</b>"}', { exact: true }).waitFor();
    expect(await screen.inspect('task-webhooks')).toEqual([]);
    receiver.answer(SENT_PATH, 200);
    await button('Send now').click();
    await page().getByText('Answered 200').waitFor();
    const [, , first, again] = await receiver.arrived(SENT_PATH, 4);
    expect(again!.headers['webhook-id']).toBe(first!.headers['webhook-id']);

    await open('/webhooks');
    await page().getByLabel('Task', { exact: true }).fill(good);
    await page().waitForURL(/task=task_/);
    // The list before has another one of a task.
    await becomes(() => delivery(/Task completed/).count(), 1);
    await page().getByText('1 attempt', { exact: true }).waitFor();
    await open('/webhooks?status=failed');
    await page().getByText('No matching deliveries').waitFor();
    expect(await screen.inspect('webhooks-none')).toEqual([]);
    await page().getByRole('link', { name: 'Clear filters' }).click();
    await delivery(/Delivered Test/).waitFor();
  });

  it('names an endpoint that fails on the overview, and sends all of it again at once', async () => {
    receiver.answer(SENT_PATH, 500);
    await submit();
    await receiver.arrived(SENT_PATH, 5);
    await open('/');
    const notice = page()
      .getByRole('region', { name: 'Needs attention' })
      .getByRole('link', { name: /has been failing since/ });
    await notice.waitFor();
    expect(await notice.textContent()).toMatch(/: 1 of 4 deliveries failed in 24 hours\.$/);
    expect(await notice.textContent()).not.toContain('token=abc');
    expect(await screen.inspect('overview-webhook-failing')).toEqual([]);
    await notice.click();
    receiver.answer(SENT_PATH, 200);
    await button(/^Resend all failed deliveries to /).click();
    await page().getByRole('dialog', { name: 'Resend all failed deliveries?' }).waitFor();
    expect(await screen.inspect('webhook-resend-all')).toEqual([]);
    await page().getByRole('dialog').getByRole('button', { name: 'Resend all' }).click();
    await page().getByText('Resending 1 delivery.').waitFor();
    await receiver.arrived(SENT_PATH, 6);
    const row = page().getByRole('region', { name: 'Endpoints' }).getByRole('row').nth(1);
    await row.getByText('Active', { exact: true }).waitFor();
    await row.getByText('4 of 4 delivered').waitFor();
    expect(await button(/^Resend all failed deliveries to /).count()).toBe(0);
  });

  it('rotates the secret, and says how long the old one is valid', async () => {
    await button('Rotate').click();
    const hours = page().getByLabel('Hours the old secret keeps working');
    expect(await screen.inspect('webhook-rotate')).toEqual([]);
    // Nothing is no number: the old secret does not end by that.
    await hours.fill('');
    await button('Rotate secret').click();
    await hours.fill('48');
    await page().getByText('The old secret keeps working for 48 hours').waitFor();
    await button('Rotate secret').click();
    await page()
      .getByText(/The previous secret works until \d+ \w+ \d+/)
      .waitFor();
    const secret = (await page().getByTestId('webhook-secret').textContent())!;
    await menu('Send test event');
    const [, , , , , , test] = await receiver.arrived(SENT_PATH, 7);
    expect(String(test!.headers['webhook-signature']).split(' ')).toHaveLength(2);
    expect(verified(test!, secret)).toMatchObject({ type: 'webhook.test' });
    expect(await screen.inspect('webhook-rotated')).toEqual([]);
  });

  it('switches an endpoint off and on, changes its events, and removes it', async () => {
    await menu('Disable');
    await page().getByText('Disabled', { exact: true }).waitFor();
    await menu('Enable');
    await page().getByText('Active', { exact: true }).waitFor();
    await menu('Edit events');
    await page().getByLabel('Task failed').uncheck();
    await button('Save').click();
    await page().getByText('Events updated.').waitFor();
    await menu('Remove');
    await page().getByText('Past deliveries stay in the log').waitFor();
    expect(await screen.inspect('webhook-remove')).toEqual([]);
    await button('Remove endpoint').click();
    await page().getByText('No endpoints yet').waitFor();
    await page().getByText('Removed endpoint').first().waitFor();
  });

  it('tells all of it in the audit log, which can be narrowed and exported', async () => {
    await page().getByRole('link', { name: 'Audit log' }).click();
    const shown = receiver.url(SENT_PATH).replace('?token=abc', '');
    const said = (sentence: string) =>
      page()
        .getByRole('button', { name: `${NAME} ${sentence}` })
        .first();
    await said(`removed the webhook endpoint “${shown}”`).waitFor();
    await said('rotated the signing secret; the old one works for 48 more hours').waitFor();
    await said(`resent a webhook to “${shown}”`).waitFor();
    await said(`resent a failed webhook to “${shown}”`).waitFor();
    await said(`added the webhook endpoint “${shown}”`).click();
    await page().getByText('webhook_endpoint.added').waitFor();
    await page().getByText('image.task.completed, image.task.failed').waitFor();
    expect(await page().content()).not.toContain('token=abc');
    expect(await screen.inspect('audit')).toEqual([]);
    await page().getByRole('combobox', { name: 'Action' }).click();
    await page().getByRole('option', { name: 'Team and account' }).click();
    await page().waitForURL(/kind=team/);
    await said('became the first owner').waitFor();
    await becomes(() => page().locator('.list-row').count(), 1);
    const [download] = await Promise.all([page().waitForEvent('download'), page().getByText('Export CSV').click()]);
    expect(download.suggestedFilename()).toBe('darkroom-audit-log.csv');
    await open('/audit?who=nobody');
    await page().getByText('No matching entries').waitFor();
    expect(await screen.inspect('audit-none')).toEqual([]);
  });

  it('shows a member endpoints and deliveries, and neither secrets nor the audit log', async () => {
    await platform.pool.query(
      `INSERT INTO webhook_endpoints (id, account_id, url, events, disabled_at, disabled_reason)
       VALUES ('whe_gone', 'acct_default', 'https://gone.example/', '{image.task.failed}', now(), 'gone')`,
    );
    const mo = await signInInvited(platform, { email: 'mo@example.org', role: 'member' });
    await page().context().clearCookies();
    await giveSession(screen, mo.cookie);
    await open('/webhooks');
    await page().getByText('Disabled (HTTP 410)').waitFor();
    await delivery(/Delivered Test/)
      .first()
      .waitFor();
    for (const absent of ['Show secret', 'Rotate', 'Add endpoint']) expect(await button(absent).count()).toBe(0);
    expect(await page().getByRole('link', { name: 'Audit log' }).count()).toBe(0);
    await button(/^Actions for /).click();
    await becomes(() => page().getByRole('menuitem').allTextContents(), ['View deliveries']);
    await page().keyboard.press('Escape');
    expect(await screen.inspect('webhooks-member')).toEqual([]);
  });
});
