import { Redis } from 'ioredis';
import sharp from 'sharp';
import { answerOf } from '../support/contract-answer.js';
import { freePort } from '../support/free-port.js';
import { startApiPlatform, type ApiPlatform, type CallOptions } from '../support/platform.js';
import { startWorker, type TestProcess } from '../support/processes.js';

const CANARY = 'canary-7b1e55';

describe('what stays inside', () => {
  let platform: ApiPlatform;
  let worker: TestProcess;
  let metricsPorts: readonly number[];
  let redis: Redis;

  beforeAll(async () => {
    metricsPorts = [await freePort(), await freePort()];
    const [ofApi, ofWorker] = metricsPorts.map(String);
    platform = await startApiPlatform({ LOG_LEVEL: 'debug', METRICS_PORT: ofApi ?? '' });
    worker = await startWorker({ ...platform.settings, METRICS_PORT: ofWorker });
    redis = new Redis(platform.settings['REDIS_URL'] ?? '');
  });
  afterAll(async () => {
    redis.disconnect();
    await worker.stop();
    await platform.close();
  });

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

    const written = platform.api.output() + worker.output();
    expect(written).toContain('task.completed');
    expect(written).toContain('task.failed');
    for (const secret of [CANARY, platform.key, platform.secretKey, 'iVBOR']) expect(written).not.toContain(secret);
  });

  it('no refusal says what it was given, and none leaves a trace of it', async () => {
    const json = { 'content-type': 'application/json' };
    const request = { model: 'gpt-image-2', prompt: CANARY };
    const png = `data:image/png;base64,${Buffer.from(`\x89PNG\r\n\x1a\n${CANARY}`, 'latin1').toString('base64')}`;
    const form = new FormData();
    form.append('prompt', CANARY);
    form.append('n', CANARY);
    form.append('image', new Blob([CANARY]), `${CANARY}.png`);
    const refused: [string, CallOptions][] = [
      ['/v1/images/generations', { key: `sk-dr-${CANARY}`, body: request }],
      ['/v1/images/generations', { headers: { authorization: `Basic ${CANARY}` }, body: request }],
      ['/v1/images/generations', { headers: json, body: `{"prompt":"${CANARY}` }],
      ['/v1/images/generations', { headers: json, body: `{"prompt":"${CANARY.repeat(6_000_000)}"}` }],
      ['/v1/images/generations', { headers: { 'content-type': `text/${CANARY}` }, body: CANARY }],
      ['/v1/images/generations', { body: { ...request, user: CANARY.repeat(300) } }],
      ['/v1/images/generations', { body: { ...request, image_urls: [`data:image/${CANARY};base64,AAAA`] } }],
      ['/v1/images/generations', { body: { ...request, image_urls: [png] } }],
      ['/v1/images/generations', { headers: { 'idempotency-key': `${CANARY} \u00e4` }, body: request }],
      [
        '/v1/images/generations/async',
        { body: { ...request, callback_url: `http://${CANARY}.example/?token=${CANARY}` } },
      ],
      ['/v1/images/edits', { body: form }],
      [
        '/v1/images/edits',
        { method: 'POST', headers: { 'content-type': `multipart/form-data; boundary=${CANARY}` }, body: CANARY },
      ],
      [`/v1/tasks/${CANARY}?token=${CANARY}`, {}],
      [`/v1/tasks?after=${CANARY}`, {}],
      [`/${CANARY}`, {}],
      [`/i/task_${CANARY}-1.png?exp=1&sig=${CANARY}`, {}],
      ...['http-500', 'http-429', 'empty', 'huge'].map((fault): [string, CallOptions] => [
        '/v1/images/generations',
        { body: { ...request, prompt: `${CANARY} [[fault=${fault}]]` } },
      ]),
    ];
    const heard = watch(redis, platform.settings['REDIS_PREFIX'] ?? '');
    const answers = await Promise.all(
      refused.map(async ([path, options]) => answerOf(await platform.call(path, options))),
    );
    const inRedis = await heard();
    for (const [index, { status, headers, text }] of answers.entries()) {
      expect([index, status >= 400, text.includes(CANARY), JSON.stringify(headers).includes(CANARY)]).toEqual([
        index,
        true,
        false,
        false,
      ]);
    }
    expect(inRedis).not.toContain(CANARY);
    for (const port of metricsPorts) {
      const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      expect([metrics.includes('darkroom_'), metrics.includes(CANARY)]).toEqual([true, false]);
    }
    const written = platform.api.output() + worker.output();
    expect(written).toContain('"level":"debug"');
    for (const secret of [CANARY, platform.key, platform.secretKey, 'iVBOR']) expect(written).not.toContain(secret);
  });

  it('the database holds no usable key', async () => {
    const { rows } = await platform.pool.query('SELECT * FROM api_keys');
    expect(rows.length).toBeGreaterThan(0);
    expect(JSON.stringify(rows)).not.toContain(platform.key.slice(13));
  });

  it('no table holds a key, the secret key, a signed link or the secret of a link', async () => {
    const { rows: tables } = await platform.pool.query<{ name: string }>(
      `SELECT quote_ident(table_name) AS name FROM information_schema.tables WHERE table_schema = 'public'`,
    );
    expect(tables.map(({ name }) => name)).toEqual(expect.arrayContaining(['accounts', 'api_keys', 'tasks']));
    for (const { name } of tables) {
      const { rows } = await platform.pool.query<{ text: string }>(`SELECT t::text AS text FROM ${name} t`);
      const all = rows.map(({ text }) => text).join('\n');
      for (const secret of [platform.key.slice(13), platform.secretKey, 'sig=', 'iVBOR'])
        expect(all).not.toContain(secret);
    }
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
