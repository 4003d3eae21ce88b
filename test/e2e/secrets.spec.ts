import { Redis } from 'ioredis';
import sharp from 'sharp';
import { startPlatform, type Platform } from '../support/platform.js';

const CANARY = 'canary-7b1e55';

describe('what stays inside', () => {
  let platform: Platform;
  let redis: Redis;

  beforeAll(async () => {
    platform = await startPlatform({ LOG_LEVEL: 'debug' });
    redis = new Redis(platform.settings['REDIS_URL'] ?? '');
  }, 120_000);
  afterAll(async () => {
    redis.disconnect();
    await platform.close();
  }, 60_000);

  it('no prompt, key or image byte reaches Redis or a log, on success or on any failure', async () => {
    const reference = await sharp({ create: { width: 256, height: 256, channels: 3, background: '#406080' } })
      .png()
      .toBuffer();
    const image = `data:image/png;base64,${reference.toString('base64')}`;
    const bodies = [
      { model: 'gpt-image-2', prompt: CANARY, resolution: '1k', image_urls: [image], response_format: 'b64_json' },
      { model: 'gpt-image-2', prompt: `${CANARY} [[fault=moderation]]` },
      { model: 'gpt-image-2', prompt: `${CANARY} [[fault=not-an-image]]` },
      { model: 'gpt-image-2', prompt: CANARY, image_urls: [`https://user:${CANARY}@example.com/a.png`] },
      { model: 'gpt-image-2', prompt: CANARY, image_urls: [`https://nowhere.invalid/${CANARY}.png?token=${CANARY}`] },
      { model: 'gpt-image-2', prompt: CANARY, size: CANARY },
      { model: CANARY, prompt: CANARY },
    ];
    const statuses = [];
    for (const body of bodies) {
      const heard = watch(redis, platform.settings['REDIS_PREFIX'] ?? '');
      const response = await platform.call('/v1/images/generations', { body });
      await response.text();
      statuses.push(response.status);
      expect(await heard()).not.toMatch(new RegExp(`${CANARY}|base64|iVBOR`));
    }
    expect(statuses).toEqual([200, 400, 502, 400, 400, 400, 400]);
    await platform.call('/v1/tasks?limit=1', { key: `sk-dr-${CANARY}` });

    const written = platform.api.output() + platform.worker.output();
    expect(written).toContain('task.completed');
    expect(written).toContain('task.failed');
    for (const secret of [CANARY, platform.key, platform.secretKey, 'iVBOR']) expect(written).not.toContain(secret);
  });

  it('the database holds no usable key', async () => {
    const { rows } = await platform.pool.query('SELECT * FROM api_keys');
    expect(rows.length).toBeGreaterThan(0);
    expect(JSON.stringify(rows)).not.toContain(platform.key.slice(13));
  });

  it('no image byte is in a row', async () => {
    const { rows } = await platform.pool.query<{ size: number }>(
      'SELECT max(octet_length(t::text)) AS size FROM tasks t',
    );
    expect(rows[0]?.size).toBeLessThan(4_000);
  });
});

/** Collects every job and every published message while it watches; the answer is all of it as one text. */
function watch(redis: Redis, prefix: string): () => Promise<string> {
  const listener = redis.duplicate();
  const heard: string[] = [];
  listener.on('pmessage', (_pattern, channel: string, message: string) => heard.push(channel, message));
  const subscribed = listener.psubscribe(`${prefix}*`);
  return async () => {
    await subscribed;
    for (const key of await redis.keys(`${prefix}*`)) {
      const type = await redis.type(key);
      if (type === 'hash') heard.push(JSON.stringify(await redis.hgetall(key)));
      else if (type === 'stream') heard.push(JSON.stringify(await redis.xrange(key, '-', '+')));
      else if (type === 'string') heard.push((await redis.get(key)) ?? '');
    }
    listener.disconnect();
    return heard.join('\n');
  };
}
