import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import sharp from 'sharp';
import { waitUntil } from '#embedded/wait-until.js';
import { signInFirstAdmin, signInInvited } from '../support/console.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { startApi } from '../support/processes.js';
import { image, json, startUpstream, type ScriptedUpstream } from '../support/scripted-upstream.js';

const CANARY = 'canary-5e1fd2@example.com';
const GENERATIONS = '/v1/images/generations';
const CHATS = '/v1/chat/completions';
const HEADER = 'x-darkroom-end-user';
const CHAT = { model: 'talk', messages: [{ role: 'user', content: 'hi' }] };

describe('end users and tags', () => {
  let upstream: ScriptedUpstream;
  let platform: Platform;
  let folder: string;
  let png: Buffer;
  beforeAll(async () => {
    upstream = await startUpstream();
    png = await sharp({ create: { width: 1024, height: 1024, channels: 3, background: '#406080' } })
      .png()
      .toBuffer();
    folder = await mkdtemp(join(tmpdir(), 'darkroom-end-users-'));
    await writeFile(
      join(folder, 'models.yaml'),
      `providers:
  up: { type: openai, base_url: "${upstream.url}", keys: [{ env: UP_KEY, name: main }] }
models:
  gpt-image-2: { kind: image, routes: [{ provider: up }] }
  talk: { kind: chat, routes: [{ provider: up }] }
`,
    );
    platform = await startPlatform({
      MODELS_FILE: join(folder, 'models.yaml'),
      UP_KEY: 'upstream-secret',
      LOG_LEVEL: 'debug',
    });
    upstream.script((call, response) => {
      const answer = call.path.includes('/images/')
        ? image(png)
        : json({ id: 'resp_1', object: 'response', output: [] });
      return answer(call, response);
    });
  });
  afterAll(async () => {
    await platform.close();
    await upstream.close();
    await rm(folder, { recursive: true, force: true });
  });

  let count = 0;
  const generate = (key: string, fields: object = {}, headers: Record<string, string> = {}, path = GENERATIONS) =>
    platform.call(path, {
      key,
      headers,
      body: { model: 'gpt-image-2', prompt: `a pear, number ${++count}`, resolution: '1k', ...fields },
    });
  const errorOf = async (response: Response) => {
    const { error } = (await response.json()) as { error: Record<string, unknown> };
    return [response.status, error['code'], error['param']];
  };
  const row = async (response: Response) => {
    expect(response.status).toBe(200);
    const id = response.headers.get('x-task-id');
    const { rows } = await platform.pool.query<{ end_user: string | null; tags: string[] | null; options: object }>(
      'SELECT end_user, tags, options FROM tasks WHERE id = $1',
      [id],
    );
    const [found] = rows;
    if (found === undefined) throw new Error('the response names no task');
    return found;
  };
  const lastSent = (): Record<string, unknown> =>
    JSON.parse(String(upstream.calls.at(-1)?.body)) as Record<string, unknown>;

  async function chatRow(response: Response) {
    const id = response.headers.get('x-request-id');
    await response.text();
    let found: { end_user: string | null; tags: string[] | null } | undefined;
    await waitUntil(
      async () => {
        const { rows } = await platform.pool.query<NonNullable<typeof found>>(
          'SELECT end_user, tags FROM chat_usage WHERE request_id = $1',
          [id],
        );
        found = rows[0];
        return found !== undefined;
      },
      { timeoutMs: 30_000 },
    );
    return found;
  }

  it('with derive, nothing that is stored, logged or sent holds the raw identifier', async () => {
    const key = await platform.newKey({ end_users: 'derive' });
    const strict = await platform.newKey({ end_users: 'require' });
    const first = await row(await generate(key, { user: CANARY }));
    expect(first.end_user).toMatch(/^eu_[\w-]{43}$/);
    expect(lastSent()).toMatchObject({ user: first.end_user, safety_identifier: first.end_user });
    expect(await row(await generate(strict, { safety_identifier: CANARY, user: 'else' }))).toMatchObject(first);
    const headed = await generate(key, {}, { [HEADER]: CANARY, 'idempotency-key': 'once' });
    expect(((await headed.clone().json()) as { safety_identifier: string }).safety_identifier).toBe(first.end_user);
    expect((await row(headed)).end_user).toBe(first.end_user);
    expect(lastSent()).not.toHaveProperty('user');
    const form = new FormData();
    for (const [name, value] of Object.entries({ prompt: 'a pear', user: CANARY, model: 'gpt-image-2' }))
      form.append(name, value);
    form.append('image', new Blob([new Uint8Array(png)], { type: 'image/png' }), 'a.png');
    expect((await row(await platform.call('/v1/images/edits', { key, body: form }))).end_user).toBe(first.end_user);
    const drawn = { model: 'gpt-image-2', messages: [{ role: 'user', content: 'a plum' }], user: CANARY };
    expect((await row(await platform.call(CHATS, { key, body: drawn }))).end_user).toBe(first.end_user);
    for (const [path, body] of [
      [CHATS, { ...CHAT, user: CANARY }],
      ['/v1/responses', { model: 'talk', input: 'hi', safety_identifier: CANARY }],
    ] as const) {
      const answer = await platform.call(path, { key, body });
      expect([answer.status, await chatRow(answer)]).toEqual([200, { end_user: first.end_user, tags: null }]);
      const field = path === CHATS ? 'user' : 'safety_identifier';
      expect(lastSent()).toEqual({ ...body, model: 'talk', [field]: first.end_user });
    }
    const failed = await generate(key, { user: CANARY, size: 'none' });
    expect([failed.status, await failed.text()]).toEqual([400, expect.not.stringContaining(CANARY)]);
    expect((await platform.call(CHATS, { key, body: { ...CHAT, User: CANARY } })).status).toBe(400);

    const { rows: tables } = await platform.pool.query<{ name: string }>(
      `SELECT quote_ident(table_name) AS name FROM information_schema.tables WHERE table_schema = 'public'`,
    );
    for (const { name } of tables) {
      const { rows } = await platform.pool.query<{ text: string }>(`SELECT t::text AS text FROM ${name} t`);
      expect([name, rows.filter(({ text }) => text.includes(CANARY))]).toEqual([name, []]);
    }
    const redis = new Redis(platform.settings['REDIS_URL'] ?? '');
    try {
      for (const name of await redis.keys(`${platform.settings['REDIS_PREFIX']}*`)) {
        expect(`${name}\n${await textIn(redis, name)}`).not.toContain(CANARY);
      }
    } finally {
      redis.disconnect();
    }
    const written = platform.api.output() + platform.worker.output();
    expect(written).toContain('task.completed');
    expect(written).not.toContain(CANARY);
    const received = upstream.calls.map(
      ({ path, headers, body }) => `${path} ${JSON.stringify(headers)} ${String(body)}`,
    );
    expect(received.length).toBeGreaterThan(5);
    expect(received.join('\n')).not.toContain(CANARY);
  });

  it('with derive, a request without an end user has that of its key, and no caller can take another’s', async () => {
    const { id, key } = await platform.newKeyWithId({ end_users: 'derive' });
    const other = await platform.newKey({ end_users: 'derive' });
    const foreign = await platform.newKey({ end_users: 'derive' }, await platform.newAccount());
    const own = (await row(await generate(key))).end_user ?? '';
    expect(own).toMatch(/^eu_/);
    expect(lastSent()).toMatchObject({ safety_identifier: own });
    expect((await row(await generate(key))).end_user).toBe(own);
    const tried = await Promise.all([own, id, `key\n${id}`].map(async (user) => row(await generate(other, { user }))));
    expect(tried.map(({ end_user }) => end_user)).not.toContain(own);
    const ann = await Promise.all([key, other, foreign].map(async (one) => row(await generate(one, { user: 'ann' }))));
    expect(ann[0]?.end_user).toBe(ann[1]?.end_user);
    expect(ann[0]?.end_user).not.toBe(ann[2]?.end_user);
  });

  it('with a new SECRET_KEY, end users keep their identifiers', async () => {
    const key = await platform.newKey({ end_users: 'derive' }, await platform.newAccount());
    const before = await chatRow(await platform.call(CHATS, { key, body: { ...CHAT, user: 'ann' } }));
    const next = 'the next one 5c8d1f'.padEnd(40, 'y');
    const rotated = { ...platform.settings, SECRET_KEY: next, SECRET_KEY_PREVIOUS: platform.secretKey };
    for (const settings of [rotated, { ...platform.settings, SECRET_KEY: next }]) {
      const api = await startApi(settings);
      try {
        const answer = await platform.call(CHATS, { key, body: { ...CHAT, user: 'ann' }, at: api });
        expect(await chatRow(answer)).toEqual(before);
      } finally {
        await api.stop();
      }
    }
  });

  it('two end users of equal requests have a task each', async () => {
    const key = await platform.newKey({ end_users: 'derive' });
    const body = { prompt: 'a shared wish' };
    const retried = { 'x-stainless-retry-count': '1' };
    const [ann, bob, again] = [
      await generate(key, body, { ...retried, [HEADER]: 'ann' }, `${GENERATIONS}/async`),
      await generate(key, body, { ...retried, [HEADER]: 'bob' }, `${GENERATIONS}/async`),
      await generate(key, body, { 'idempotency-key': 'shared', [HEADER]: 'ann' }),
    ].map((response) => response.headers.get('x-task-id'));
    expect(new Set([ann, bob, again]).size).toBe(3);
    // The calls of the two that nobody waits for must not be the last ones of a later test.
    const pending = `SELECT 1 FROM tasks WHERE id = ANY($1) AND status = 'pending'`;
    const areMade = async (): Promise<boolean> => (await platform.pool.query(pending, [[ann, bob]])).rowCount === 0;
    expect(await waitUntil(areMade, { timeoutMs: 30_000 })).toBe(true);
    expect(await errorOf(await generate(key, body, { 'idempotency-key': 'shared', [HEADER]: 'bob' }))).toEqual([
      422,
      'idempotency_key_reused',
      expect.anything(),
    ]);
  });

  it('with require, a request without an end user is refused, and nothing is created', async () => {
    const { id, key } = await platform.newKeyWithId({ end_users: 'require' });
    const refused = [400, 'missing_required_parameter', 'safety_identifier'];
    expect(await errorOf(await generate(key))).toEqual(refused);
    expect(await errorOf(await generate(key, { user: '' }, { [HEADER]: ' ' }))).toEqual(refused);
    expect(await errorOf(await platform.call(CHATS, { key, body: CHAT }))).toEqual(refused);
    expect(await errorOf(await platform.call('/v1/responses', { key, body: { model: 'talk', input: 'hi' } }))).toEqual(
      refused,
    );
    const { rows } = await platform.pool.query('SELECT 1 FROM tasks WHERE api_key_id = $1', [id]);
    expect(rows).toEqual([]);
    expect((await generate(key, {}, { [HEADER]: 'ann' })).status).toBe(200);
  });

  it('with forward, identifiers that every provider accepts are passed on and recorded', async () => {
    const key = await platform.newKey({ end_users: 'forward' });
    expect(await row(await generate(key, { user: 'ann-1' }))).toMatchObject({ end_user: 'ann-1' });
    expect(lastSent()).toMatchObject({ user: 'ann-1', safety_identifier: 'ann-1' });
    expect(await row(await generate(key))).toMatchObject({ end_user: null });
    expect(lastSent()).not.toHaveProperty('safety_identifier');
    const answer = await platform.call(CHATS, { key, headers: { [HEADER]: 'ann-1' }, body: CHAT });
    expect(await chatRow(answer)).toEqual({ end_user: 'ann-1', tags: null });
    expect(lastSent()).toEqual({ ...CHAT, safety_identifier: 'ann-1' });
    for (const bad of ['ann smith', 'ann,bob', 'änn', 'a'.repeat(65)]) {
      expect(await errorOf(await generate(key, { user: bad }))).toEqual([400, 'invalid_value', 'user']);
      expect(await errorOf(await platform.call(CHATS, { key, body: { ...CHAT, user: bad } }))).toEqual([
        400,
        'invalid_value',
        'user',
      ]);
    }
    expect(await errorOf(await generate(key, {}, { [HEADER]: 'ann smith' }))).toEqual([400, 'invalid_value', HEADER]);
  });

  it('with off, fields are passed on as they are, and no end user is recorded', async () => {
    const text = '{"model":"talk", "user":"ann smith","messages":[{"role":"user","content":"hi"}]}';
    const headers = { 'content-type': 'application/json', [HEADER]: 'ann' };
    expect(await chatRow(await platform.call(CHATS, { headers, body: text }))).toEqual({ end_user: null, tags: null });
    expect(String(upstream.calls.at(-1)?.body)).toBe(text);
    expect(await row(await generate(platform.key, { user: 'ann smith' }))).toMatchObject({ end_user: null });
    expect(lastSent()).toMatchObject({ user: 'ann smith' });
  });

  it('tags of the body, the header and the key are recorded together, and never sent', async () => {
    const key = await platform.newKey({ tags: ['default'] });
    const header = { 'x-darkroom-tags': 'b, c d ,default,' };
    expect((await row(await generate(key, { tags: ['a', 'b'] }, header))).tags).toEqual(['a', 'b', 'c d', 'default']);
    expect(lastSent()).not.toHaveProperty('tags');
    const form = new FormData();
    for (const [name, value] of [
      ['prompt', 'a pear'],
      ['tags', 'a,b'],
      ['tags', 'c'],
      ['tags[]', 'd'],
    ] as const)
      form.append(name, value);
    form.append('image', new Blob([new Uint8Array(png)], { type: 'image/png' }), 'a.png');
    const edited = await platform.call('/v1/images/edits', { key, body: form });
    expect((await row(edited)).tags).toEqual(['a', 'b', 'c', 'd', 'default']);
    expect(edited.headers.get('x-ignored-params')).toBeNull();
    expect(String(upstream.calls.at(-1)?.body)).not.toContain('tags');
    const answer = await platform.call(CHATS, { key, body: { ...CHAT, tags: ['a'] } });
    expect(await chatRow(answer)).toEqual({ end_user: null, tags: ['a', 'default'] });
    expect(lastSent()).toEqual(CHAT);
    expect((await row(await generate(platform.key))).tags).toBeNull();
  });

  it('an order in the playground has the tags of a member’s limited key, and the member as its end user', async () => {
    const ada = await signInFirstAdmin(platform);
    const member = async (email: string) => {
      const who = await signInInvited(platform, { email, role: 'member' });
      const { key } = await who.ask<{ key: { id: string } }>('/keys', { body: { name: 'of a member' } });
      const settings = { tasks_in_flight: 5, end_users: 'require', tags: ['team'] };
      await ada.ask(`/keys/${key.id}`, { method: 'PATCH', body: settings });
      return async (fields: object) => {
        const body = { model: 'gpt-image-2', prompt: `a pear, number ${++count}`, resolution: '1k', ...fields };
        const { task_id: id } = await who.ask<{ task_id: string }>('/images', { body });
        const { rows } = await platform.pool.query('SELECT api_key_id, end_user, tags FROM tasks WHERE id = $1', [id]);
        expect(rows).toEqual([
          { api_key_id: key.id, end_user: expect.stringMatching(/^eu_[\w-]{43}$/) as string, tags: ['team'] },
        ]);
        return (rows[0] as { end_user: string }).end_user;
      };
    };
    const [ann, bob] = [await member('ann@example.org'), await member('bob@example.org')];
    const first = await ann({});
    expect(await ann({ user: CANARY })).toBe(first);
    expect(await bob({})).not.toBe(first);
  });

  it.each([
    ['nine', { tags: 'abcdefghi'.split('') }, {}, [400, 'array_above_max_length', 'tags']],
    [
      'eight, and one of the header',
      { tags: 'abcdefgh'.split('') },
      { 'x-darkroom-tags': 'i' },
      [400, 'array_above_max_length', 'tags'],
    ],
    ['one with a comma', { tags: ['a', 'b,c'] }, {}, [400, 'invalid_value', 'tags[1]']],
    ['an empty one', { tags: [' '] }, {}, [400, 'invalid_value', 'tags[0]']],
    ['a long one', { tags: ['a'.repeat(65)] }, {}, [400, 'invalid_value', 'tags[0]']],
    ['a number', { tags: [1] }, {}, [400, 'invalid_type', 'tags[0]']],
    ['a text', { tags: 'a' }, {}, [400, 'invalid_type', 'tags']],
    [
      'a long one in the header',
      {},
      { 'x-darkroom-tags': 'a'.repeat(65) },
      [400, 'invalid_value', 'x-darkroom-tags[0]'],
    ],
  ])('refuses %s', async (_name, fields, headers, expected) => {
    expect(await errorOf(await generate(platform.key, fields, headers as Record<string, string>))).toEqual(expected);
    expect(await errorOf(await platform.call(CHATS, { headers: headers, body: { ...CHAT, ...fields } }))).toEqual(
      expected,
    );
  });
});

/** What a key of Redis holds; BullMQ and our own use these types. */
async function textIn(redis: Redis, name: string): Promise<string> {
  const type = await redis.type(name);
  if (type === 'hash') return JSON.stringify(await redis.hgetall(name));
  if (type === 'stream') return JSON.stringify(await redis.xrange(name, '-', '+'));
  if (type === 'zset') return JSON.stringify(await redis.zrange(name, '0', '-1'));
  if (type === 'list') return JSON.stringify(await redis.lrange(name, 0, -1));
  if (type === 'set') return JSON.stringify(await redis.smembers(name));
  // One that has expired since it was listed has no type.
  return type === 'none' ? '' : ((await redis.get(name)) ?? '');
}
