import type { ServerResponse } from 'node:http';
import { waitUntil } from '#embedded/wait-until.js';
import { NewDeliveries } from '#notifications/deliveries/new-deliveries.js';
import { EndpointStore } from '#notifications/endpoint-store.js';
import { WebhooksConfig } from '#notifications/webhooks.config.js';
import { signInFirstAdmin } from '../support/console.js';
import { TEST_ACCOUNT } from '../support/task-room.js';
import { startWebhookPlatform, type WebhookPlatform } from '../support/webhook-platform.js';
import { databaseOf } from '../support/open-prisma.js';

const AT_ONCE = 6;
const SLOW = 150;

describe('webhooks of several accounts', () => {
  let room: WebhookPlatform;
  beforeAll(async () => {
    room = await startWebhookPlatform({
      WEBHOOK_TIMEOUT_MS: '60000',
      WEBHOOK_CONCURRENCY_PER_ACCOUNT: String(AT_ONCE),
      WEBHOOK_ENDPOINTS_PER_ACCOUNT: '2',
    });
  });
  afterAll(() => room.close());

  it('M3: 150 deliveries to silent receivers of one account hold up no delivery of another', async () => {
    const { platform, receiver } = room;
    const { pool } = platform;
    const held: ServerResponse[] = [];
    receiver.answer('/slow', (response) => held.push(response));
    const endpoints = new EndpointStore(databaseOf(platform), { ...new WebhooksConfig(), endpointsPerAccount: 0 });
    const endpoint = await endpoints.add(TEST_ACCOUNT, receiver.url('/slow'));
    const deliveries = new NewDeliveries(databaseOf(platform), endpoints);
    await Promise.all(Array.from({ length: SLOW }, () => deliveries.addTest(TEST_ACCOUNT, endpoint)));
    await receiver.arrived('/slow', AT_ONCE);

    const other = await platform.newKey({}, await platform.newAccount());
    const body = { model: 'gpt-image-2', prompt: 'a fox', resolution: '1k', callback_url: receiver.url('/other') };
    for (let n = 1; n <= 3; n++) {
      expect((await platform.call('/v1/images/generations/async', { key: other, body })).status).toBe(202);
      await receiver.arrived('/other', n);
    }
    // Every one that had come to the silent receiver is still held, and no more came than the account has places.
    expect(held).toHaveLength(AT_ONCE);
    expect(held.filter(({ destroyed }) => destroyed)).toEqual([]);

    receiver.answer('/slow', 200);
    for (const response of held) response.end();
    const delivered = async (): Promise<boolean> =>
      (await pool.query(`SELECT FROM webhook_deliveries WHERE state <> 'delivered'`)).rowCount === 0;
    expect(await waitUntil(delivered, { timeoutMs: 60_000 })).toBe(true);
    expect(receiver.at('/slow')).toHaveLength(SLOW);
  });

  it('M3: an account that has as many endpoints as it may have is told so', async () => {
    const ada = await signInFirstAdmin(room.platform);
    const add = (path: string) =>
      ada.call('/webhooks/endpoints', { method: 'POST', body: { url: room.receiver.url(path) } });
    expect((await add('/second')).status).toBe(201);
    const refused = await add('/third');
    expect(refused.status).toBe(409);
    expect(await refused.json()).toMatchObject({
      error: { code: 'account_limit_reached', message: expect.stringContaining('2 webhook endpoints') },
    });
  });
});
