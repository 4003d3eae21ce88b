import type { ServerResponse } from 'node:http';
import { waitUntil } from '#embedded/wait-until.js';
import { OwnRedis } from '../support/own-redis.js';
import { startWorker } from '../support/processes.js';
import { startWebhookPlatform } from '../support/webhook-platform.js';

/** Longer than a worker without work takes to end. */
const LONG_MS = 12_000;

it('a worker whose Redis goes away ends soon without work, and otherwise when its delivery has ended', async () => {
  const own = await OwnRedis.open();
  const redis = await own.start('redis');
  const { platform, receiver, close } = await startWebhookPlatform({
    REDIS_URL: redis.url,
    REDIS_PREFIX: '{away}',
    WEBHOOK_TIMEOUT_MS: '60000',
    SHUTDOWN_GRACE_MS: '60000',
  });
  let held: ServerResponse | undefined;
  receiver.answer('/held', (response) => (held = response));
  const body = { model: 'gpt-image-2', prompt: 'a lighthouse', size: '1:1', callback_url: receiver.url('/held') };
  expect((await platform.call('/v1/images/generations/async', { body })).status).toBe(202);
  await receiver.arrived('/held');
  const idle = await startWorker(platform.settings);
  await idle.logged('worker.started');

  await redis.stop();
  const since = performance.now();
  const idleExit = idle.stop();
  const busyExit = platform.worker.stop();
  expect(await idleExit).toMatchObject({ code: 0, signal: null });
  expect(await waitUntil(() => performance.now() - since > LONG_MS, { timeoutMs: 2 * LONG_MS })).toBe(true);
  held?.writeHead(200).end();
  expect(await busyExit).toMatchObject({ code: 0, signal: null });
  expect(platform.worker.logs()).toContainEqual(expect.objectContaining({ event: 'webhook.delivered' }));
  await close();
  await own.close();
});
