import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import { waitUntil } from '#embedded/wait-until.js';
import { json, pieces, startChatUpstream, type ChatUpstream } from '../support/chat-upstream.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';
import { responseEvents, responseOf } from '../support/responses.js';

const RESPONSES = '/v1/responses';

/** Two servers of one model, with two keys each. */
describe('a stored response', () => {
  let platform: ApiPlatform;
  let upstreams: ChatUpstream[];
  let folder: string;
  let next = 0;

  beforeAll(async () => {
    upstreams = [await startChatUpstream(), await startChatUpstream()];
    folder = await mkdtemp(join(tmpdir(), 'darkroom-responses-'));
    const [first = '', second = ''] = upstreams.map(({ url }) => url);
    await writeFile(
      join(folder, 'models.yaml'),
      `providers:
  first: { type: openai, base_url: "${first}", keys: [{ env: KEY_A, name: a }, { env: KEY_B, name: b }] }
  second: { type: openai, base_url: "${second}", keys: [{ env: KEY_A, name: a }, { env: KEY_B, name: b }] }
  spread:
    type: openai
    servers:
      - { name: here, base_url: "${first}", keys: [{ env: KEY_A, name: a }], region: eu }
      - { name: there, base_url: "${second}", keys: [{ env: KEY_A, name: a }], region: us }
models:
  spread: { kind: chat, routes: [{ provider: spread }] }
  eu-only: { kind: chat, routes: [{ provider: spread, region: eu }] }
  both: { kind: chat, routes: [{ provider: first, weight: 1 }, { provider: second, weight: 1 }] }
  second: { kind: chat, routes: [{ provider: second }] }
  priced:
    kind: chat
    routes: [{ provider: first }]
    prices: [{ from: 2026-01-01, per_million_tokens: { input: 1000, output: 1000 } }]
`,
    );
    platform = await startApiPlatform({ MODELS_FILE: join(folder, 'models.yaml'), KEY_A: 'key-a', KEY_B: 'key-b' });
  });
  afterAll(async () => {
    await platform.close();
    await Promise.all(upstreams.map((upstream) => upstream.close()));
    await rm(folder, { recursive: true, force: true });
  });
  beforeEach(() => {
    for (const upstream of upstreams) {
      upstream.received.length = 0;
      upstream.answer = (response, call) => json(responseOf({ id: `resp_${++next}`, path: call.path }))(response, call);
    }
  });

  const create = async (fields: object = {}, key?: string, region?: string): Promise<Response> =>
    platform.call(RESPONSES, {
      body: { model: 'both', input: 'hi', ...fields },
      ...(key === undefined ? {} : { key }),
      ...(region === undefined ? {} : { headers: { 'x-darkroom-region': region } }),
    });
  const idOf = async (response: Response): Promise<string> => ((await response.json()) as { id: string }).id;
  const received = (): { path: string; url: string; key: unknown; body: string }[] =>
    upstreams.flatMap(({ url, received: calls }) =>
      calls.map(({ path, body, headers }) => ({ path, url, key: headers.authorization, body })),
    );
  const errorOf = async (response: Response): Promise<unknown> => [
    response.status,
    ((await response.json()) as { error: unknown }).error,
  ];
  const notFound = (id: string): unknown => [
    404,
    {
      type: 'invalid_request_error',
      code: null,
      param: null,
      message: `Response with id '${id}' not found.`,
    },
  ];

  it('is read, listed, canceled, deleted and continued where it is held, with the key that created it', async () => {
    for (let round = 0; round < 8; round++) {
      for (const upstream of upstreams) upstream.received.length = 0;
      const id = await idOf(await create());
      const [created] = received();
      const calls: [string, string, string][] = [
        ['GET', `/${id}`, `/${id}`],
        ['GET', `/${id}?include%5B%5D=a&api-version=1&starting_after=3`, `/${id}?include%5B%5D=a&starting_after=3`],
        ['GET', `/${id}/input_items?limit=2&order=asc`, `/${id}/input_items?limit=2&order=asc`],
        ['POST', `/${id}/cancel`, `/${id}/cancel`],
        ['DELETE', `/${id}`, `/${id}`],
      ];
      for (const [method, path] of calls) {
        const response = await platform.call(RESPONSES + path, { method });
        expect([method, response.status]).toEqual([method, 200]);
      }
      expect((await create({ previous_response_id: id })).status).toBe(200);
      expect(received().map(({ path }) => path)).toEqual([
        RESPONSES,
        ...calls.map(([, , path]) => RESPONSES + path),
        RESPONSES,
      ]);
      const holder = { url: created?.url, key: created?.key };
      expect(received()).toEqual(received().map((call) => ({ ...call, ...holder })));
      expect(received().at(-1)?.body).toBe(`{"model":"both","input":"hi","previous_response_id":"${id}"}`);
    }
  });

  it('answers with the bytes of its provider, also as a stream, and costs nothing', async () => {
    // Usage is written within a second, in the order in which calls end: with the last one, all before it are there.
    const usage = async (requestId: string | null): Promise<string[]> => {
      let rows: { request_id: string }[] = [];
      await waitUntil(
        async () => {
          ({ rows } = await platform.pool.query<{ request_id: string }>('SELECT request_id FROM chat_usage'));
          return rows.some((row) => row.request_id === requestId);
        },
        { timeoutMs: 30_000 },
      );
      return rows.map((row) => row.request_id).sort();
    };
    const created = await create();
    const id = await idOf(created);
    const before = await usage(created.headers.get('x-request-id'));
    const text = `{ "id":"${id}","object":"response", "error":{"code":"server_error","message":"x"} }`;
    for (const upstream of upstreams) upstream.answer = json(text);
    expect(await (await platform.call(`${RESPONSES}/${id}`, {})).text()).toBe(text);
    const events = responseEvents(responseOf({ id })).join('');
    for (const upstream of upstreams) upstream.answer = pieces([events.slice(0, 99), events.slice(99)]);
    const streamed = await platform.call(`${RESPONSES}/${id}?stream=true`, {});
    expect(await streamed.text()).toBe(events);
    expect(received().at(-1)?.path).toBe(`${RESPONSES}/${id}?stream=true`);
    for (const upstream of upstreams) upstream.answer = json(responseOf({ id: 'resp_last' }));
    const last = (await create()).headers.get('x-request-id');
    expect(await usage(last)).toEqual([...before, last].sort());
  });

  it('is known of a stream before its end, and by its first event', async () => {
    let finish: () => void = () => undefined;
    const events = responseEvents(responseOf({ id: 'resp_streamed' }));
    for (const upstream of upstreams) {
      upstream.answer = (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write(events[0]);
        finish = () => void response.end(events.slice(1).join(''));
      };
    }
    const streamed = await create({ stream: true });
    const known = async (): Promise<number | undefined> => {
      const text = `SELECT tokens FROM stored_responses WHERE id = 'resp_streamed'`;
      return ((await platform.pool.query(text)).rows as { tokens: number }[])[0]?.tokens;
    };
    expect(await waitUntil(async () => (await known()) !== undefined, { timeoutMs: 30_000 })).toBe(true);
    finish();
    expect(await streamed.text()).toBe(events.join(''));
    // The tokens of its usage.
    expect(await waitUntil(async () => (await known()) === 18, { timeoutMs: 30_000 })).toBe(true);
  });

  it('is to the SDK what the provider’s is', async () => {
    const client = new OpenAI({ baseURL: `${platform.url}/v1`, apiKey: platform.key, maxRetries: 0 });
    const { id } = await client.responses.create({ model: 'both', input: 'hi' });
    const items = { object: 'list', data: [], has_more: false };
    for (const upstream of upstreams) {
      upstream.answer = (response, call) =>
        json(call.path.endsWith('input_items') ? items : responseOf({ id }))(response, call);
    }
    expect(await client.responses.retrieve(id)).toMatchObject({ id, output_text: 'Here you are.' });
    expect((await client.responses.inputItems.list(id)).data).toEqual([]);
    expect(await client.responses.cancel(id)).toMatchObject({ id });
    await client.responses.delete(id);
    const missing = await client.responses.retrieve('resp_none').catch((error: unknown) => error);
    expect(missing).toMatchObject({ status: 404, type: 'invalid_request_error', code: null, param: null });
  });

  it('is unknown to other accounts, to keys without its model, and where it was not stored', async () => {
    const id = await idOf(await create());
    const strangers = [
      await platform.newKey({}, await platform.newAccount()),
      await platform.newKey({ models: ['second'] }),
    ];
    for (const key of strangers) {
      for (const [method, path] of [
        ['GET', ''],
        ['DELETE', ''],
        ['POST', '/cancel'],
        ['GET', '/input_items'],
      ] as const) {
        const response = await platform.call(`${RESPONSES}/${id}${path}`, { key, method });
        expect(await errorOf(response)).toEqual(notFound(id));
      }
      expect(await errorOf(await create({ model: 'second', previous_response_id: id }, key))).toMatchObject([
        400,
        { code: 'previous_response_not_found', param: 'previous_response_id' },
      ]);
    }
    const unstored = await idOf(await create({ store: false }));
    for (const unknown of [unstored, 'resp_none', '..%2Fchat', 'x'.repeat(300)]) {
      const response = await platform.call(`${RESPONSES}/${unknown}`, {});
      expect(response.status).toBe(unknown.length > 200 ? response.status : 404);
      expect(response.status).not.toBe(200);
    }
    expect(received().every(({ path }) => path === RESPONSES)).toBe(true);
  });

  it('can’t be continued with a model whose providers do not hold it', async () => {
    const id = await idOf(await create({ model: 'priced' }));
    expect(await errorOf(await create({ model: 'second', previous_response_id: id }))).toMatchObject([
      400,
      { code: 'previous_response_not_found', message: expect.stringContaining('no provider of second holds it') },
    ]);
    expect(await errorOf(await create({ previous_response_id: 7 }))).toMatchObject([400, { code: 'invalid_type' }]);
  });

  it.each([
    ['first', 'removed'],
    ['spread', 'removed'],
    ['removed', null],
  ])('is unknown once its server is no longer listed: %s/%s', async (provider, server) => {
    const model = provider === 'spread' ? 'spread' : 'both';
    const id = await idOf(await create({ model }));
    const moved = `${id}_moved`;
    await platform.pool.query(
      `INSERT INTO stored_responses (account_id, id, api_key_id, model, provider, provider_key, provider_server, tokens, expires_at)
       SELECT account_id, $2, api_key_id, model, $3, provider_key, $4, tokens, expires_at FROM stored_responses WHERE id = $1`,
      [id, moved, provider, server],
    );
    for (const [method, below] of [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/cancel'],
      ['GET', '/input_items'],
    ] as const) {
      expect(await errorOf(await platform.call(`${RESPONSES}/${moved}${below}`, { method }))).toEqual(notFound(moved));
    }
    expect(await errorOf(await create({ model, previous_response_id: moved }))).toMatchObject([
      400,
      { code: 'previous_response_not_found', param: 'previous_response_id' },
    ]);
    expect(received()).toHaveLength(1);
  });

  it('is continued in its region only, and read from any', async () => {
    const id = await idOf(await create({ model: 'spread' }, undefined, 'us'));
    const continuing = { model: 'spread', previous_response_id: id };
    expect((await create(continuing, undefined, 'us')).status).toBe(200);
    expect((await create(continuing)).status).toBe(200);
    expect(await errorOf(await create(continuing, undefined, 'eu'))).toMatchObject([
      400,
      {
        code: 'invalid_value',
        param: 'x-darkroom-region',
        message: `Previous response with id '${id}' is held outside the region eu.`,
      },
    ]);
    expect(await errorOf(await create({ ...continuing, model: 'eu-only' }))).toMatchObject([
      400,
      { code: 'previous_response_not_found', message: expect.stringContaining('no provider of eu-only holds it') },
    ]);
    const headers = { 'x-darkroom-region': 'eu' };
    expect((await platform.call(`${RESPONSES}/${id}`, { headers })).status).toBe(200);
    expect(upstreams.map(({ received: calls }) => calls.length)).toEqual([0, 4]);
  });

  it('counts in the estimate of one that continues it', async () => {
    const usage = { input_tokens: 5_000, output_tokens: 1_000 };
    upstreams[0]!.answer = json(responseOf({ id: 'resp_long', usage }));
    await (await create({ model: 'priced' })).text();
    upstreams[0]!.answer = json(responseOf({ id: 'resp_uncounted', usage: null, output: [] }));
    const body = { model: 'priced', input: 'hi', previous_response_id: 'resp_long' };
    const response = await platform.call(RESPONSES, { body });
    const { length } = await response.text();
    let cost: string | undefined;
    const written = async (): Promise<boolean> => {
      const text = 'SELECT cost_micros FROM chat_usage WHERE request_id = $1';
      const { rows } = await platform.pool.query(text, [response.headers.get('x-request-id')]);
      cost = (rows as { cost_micros: string }[])[0]?.cost_micros;
      return cost !== undefined;
    };
    expect(await waitUntil(written, { timeoutMs: 30_000 })).toBe(true);
    const input = 6_000 + Math.ceil(JSON.stringify(body).length / 4);
    expect(cost).toBe(String((input + Math.ceil(length / 4)) * 1_000));
  });

  it.each(['wait=3', 'stream_options=1', '%=1'])('refuses a query that no provider knows: %s', async (query) => {
    const id = await idOf(await create());
    expect(await errorOf(await platform.call(`${RESPONSES}/${id}?${query}`, {}))).toMatchObject([
      400,
      { code: 'unsupported_parameter' },
    ]);
  });

  it('passes the provider’s errors on, and needs the permission to chat', async () => {
    const id = await idOf(await create());
    const error = { message: 'Cannot cancel.', type: 'invalid_request_error', param: null, code: null };
    for (const upstream of upstreams) upstream.answer = json({ error }, 400);
    expect(await errorOf(await platform.call(`${RESPONSES}/${id}/cancel`, { method: 'POST' }))).toEqual([400, error]);
    const key = await platform.newKey({ scopes: ['images'] });
    expect((await platform.call(`${RESPONSES}/${id}`, { key })).status).toBe(403);
  });
});
