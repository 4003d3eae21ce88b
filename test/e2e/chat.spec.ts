import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI, { APIError } from 'openai';
import { waitUntil } from '#embedded/wait-until.js';
import { event, json, pieces, startChatUpstream, type ChatUpstream } from '../support/chat-upstream.js';
import { counted } from '../support/figures.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';
import { startApi } from '../support/processes.js';

const CHATS = '/v1/chat/completions';
const SECRET = 'upstream-secret-1';
const MOST_CHATS = 4;
// Spacing, a number beyond a double and unknown fields: what a parser in between would not keep.
const ANSWER = `{"id":"c1", "object":"chat.completion","created":1,"model":"up","choices":[{"index":0,"message":
  {"role":"assistant","content":"caf\\u00e9 \\"usage\\":{}","refusal":null},"logprobs":null,"finish_reason":"stop"}],
  "big":12345678901234567890,"usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18,
  "prompt_tokens_details":{"cached_tokens":4}}}`;
const USAGE = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };

const chunk = (fields: object): object => ({
  id: 'c1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'up',
  ...fields,
});
const delta = (content: string): object =>
  chunk({ choices: [{ index: 0, delta: { content }, finish_reason: null }], usage: null });
const STREAM = [event(delta('a')), event(delta('b')), event(chunk({ choices: [], usage: USAGE })), event('[DONE]')];

describe('a chat through a real provider', () => {
  let platform: ApiPlatform;
  let upstream: ChatUpstream;
  let folder: string;
  let client: OpenAI;

  beforeAll(async () => {
    upstream = await startChatUpstream();
    folder = await mkdtemp(join(tmpdir(), 'darkroom-chat-'));
    await writeFile(
      join(folder, 'models.yaml'),
      `providers:
  up: { type: openai, base_url: "${upstream.url}", keys: [{ env: UP_KEY, name: main }] }
models:
  gpt-image-2: { kind: image, routes: [{ provider: up }] }
  gpt-5.5: { kind: chat, routes: [{ provider: up }] }
  renamed: { kind: chat, routes: [{ provider: up, model: "their/name" }] }
`,
    );
    platform = await startApiPlatform({
      MODELS_FILE: join(folder, 'models.yaml'),
      UP_KEY: SECRET,
      ACCOUNT_OPEN_CHATS: String(MOST_CHATS),
    });
    client = new OpenAI({ baseURL: `${platform.url}/v1`, apiKey: platform.key, maxRetries: 0 });
  });
  afterAll(async () => {
    await platform.close();
    await upstream.close();
    await rm(folder, { recursive: true, force: true });
  });
  beforeEach(() => {
    upstream.received.length = 0;
  });

  const ask = (fields: object = {}): object => ({
    model: 'gpt-5.5',
    messages: [{ role: 'user', content: 'hi' }],
    ...fields,
  });

  function send(body: string | object, headers: Record<string, string> = {}): Promise<Response> {
    const text = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
    return platform.call(CHATS, { body: text, headers: { 'content-type': 'application/json', ...headers } });
  }

  async function usageOf(response: Response): Promise<Record<string, unknown>> {
    const id = response.headers.get('x-request-id');
    let row: Record<string, unknown> | undefined;
    await waitUntil(
      async () => {
        const { rows } = await platform.pool.query('SELECT * FROM chat_usage WHERE request_id = $1', [id]);
        [row] = rows as Record<string, unknown>[];
        return row !== undefined;
      },
      { timeoutMs: 30_000 },
    );
    return row ?? {};
  }

  it('passes body and answer on byte for byte, with our key and none of the headers that are not the caller’s', async () => {
    const body = `{ "model" : "gpt-5.5","messages":[{"role":"user","content":"\\u00e9"}], "seed":12345678901234567890,"x":{"y":1.0} }`;
    const secret = { 'set-cookie': 'a=b', 'openai-organization': 'org-1', 'x-ratelimit-limit-requests': '9' };
    upstream.answer = json(ANSWER, 200, { ...secret, 'x-request-id': 'theirs', 'openai-processing-ms': '12' });
    const response = await send(body);
    expect(response.status).toBe(200);
    expect(await response.text()).toBe(ANSWER);
    expect(upstream.received[0]?.body).toBe(body);
    expect(upstream.received[0]?.path).toBe(CHATS);
    expect(upstream.received[0]?.headers.authorization).toBe(`Bearer ${SECRET}`);
    const headers = Object.fromEntries(response.headers);
    expect(headers).toMatchObject({ 'openai-processing-ms': '12', 'content-type': 'application/json' });
    expect(headers['x-request-id']).toMatch(/^req_/);
    expect(JSON.stringify(headers)).not.toMatch(/org-1|a=b|theirs|ratelimit-limit-requests":"9/);
    expect(await usageOf(response)).toMatchObject({
      account_id: 'acct_default',
      model: 'gpt-5.5',
      provider: 'up',
      provider_key: 'main',
      streamed: false,
      status: 200,
      outcome: 'completed',
      input_tokens: 11,
      output_tokens: 7,
      cached_tokens: 4,
    });
  });

  it('puts the provider’s name of the model in its place, and changes nothing else', async () => {
    upstream.answer = json(ANSWER);
    await (await send('{"messages":[{"role":"user","content":"model"}],\n"model":"renamed" ,"z":1e2}')).text();
    expect(upstream.received[0]?.body).toBe(
      '{"messages":[{"role":"user","content":"model"}],\n"model":"their/name" ,"z":1e2}',
    );
  });

  it('asks for the usage of a stream, keeps it, and hides its event from who did not ask', async () => {
    // Cut at odd places, in the middle of the hidden event too.
    const text = STREAM.join('');
    const cut = [7, text.indexOf('"choices":[],') + 3, text.indexOf('[DONE]') + 2];
    upstream.answer = pieces([0, ...cut].map((at, index) => text.slice(at, cut[index])));
    const response = await send(ask({ stream: true }));
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(await response.text()).toBe([STREAM[0], STREAM[1], STREAM[3]].join(''));
    expect(JSON.parse(upstream.received[0]?.body ?? '')).toEqual(
      ask({ stream: true, stream_options: { include_usage: true } }),
    );
    expect(await usageOf(response)).toMatchObject({
      streamed: true,
      input_tokens: 5,
      output_tokens: 2,
      cached_tokens: null,
    });
  });

  it('changes no byte of a stream whose caller asked for the usage', async () => {
    upstream.answer = pieces(STREAM);
    const body = JSON.stringify(ask({ stream: true, stream_options: { include_usage: true } }));
    const response = await send(body);
    expect(await response.text()).toBe(STREAM.join(''));
    expect(upstream.received[0]?.body).toBe(body);
    expect(await usageOf(response)).toMatchObject({ input_tokens: 5, output_tokens: 2 });
  });

  it('is to the SDK what the provider is', async () => {
    const direct = new OpenAI({ baseURL: upstream.url, apiKey: 'x', maxRetries: 0 });
    const call = { name: 'look', arguments: '{"a":1}' };
    const tools = JSON.parse(ANSWER) as { choices: { message: object }[] };
    Object.assign(tools.choices[0]!.message, {
      content: null,
      tool_calls: [{ id: 't', type: 'function', function: call }],
    });
    const question = ask() as OpenAI.ChatCompletionCreateParamsNonStreaming;
    for (const body of [JSON.parse(ANSWER) as object, tools]) {
      upstream.answer = json(body);
      expect(await client.chat.completions.create(question)).toEqual(await direct.chat.completions.create(question));
    }
    upstream.answer = pieces(STREAM);
    const options = { ...question, stream: true, stream_options: { include_usage: true } } as const;
    const [ours, theirs] = await Promise.all(
      [client, direct].map(async (openai) => all(await openai.chat.completions.create(options))),
    );
    expect(ours).toEqual(theirs);
    expect(ours).toHaveLength(3);
  });

  it('tells the provider’s errors with their status in the one error body', async () => {
    const error = {
      message: 'Too long.',
      type: 'invalid_request_error',
      param: 'messages',
      code: 'context_length_exceeded',
    };
    upstream.answer = json({ error }, 400);
    const response = await send(ask());
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({ type: 'error', error, request_id: response.headers.get('x-request-id') });
    const told = await client.chat.completions.create(ask() as never).catch((thrown: unknown) => thrown);
    expect(told).toMatchObject({ status: 400, code: error.code, param: 'messages', type: error.type });
    expect(told).toBeInstanceOf(APIError);
    upstream.answer = json('<html>busy</html>', 429, { 'retry-after': '7' });
    const busy = await send(ask());
    expect([busy.status, busy.headers.get('retry-after')]).toEqual([429, '7']);
    upstream.answer = json('{}', 666);
    expect((await send(ask())).status).toBe(502);
    expect(await busy.json()).toMatchObject({ error: { type: 'rate_limit_error', code: null, param: null } });
    upstream.answer = json({ error: { ...error, message: `Incorrect API key: ${SECRET}` } }, 401);
    const ours = await send(ask());
    expect([ours.status, ours.headers.get('x-should-retry')]).toEqual([502, 'true']);
    expect(await ours.text()).not.toContain(SECRET);
  });

  it('tells an error that comes with status 200 as what it is, and passes all else on whole', async () => {
    const error = { message: 'Too long.', type: 'invalid_request_error', param: null, code: 'context_length_exceeded' };
    for (const stream of [false, true]) {
      upstream.answer = json({ error });
      const response = await send(ask({ stream }));
      expect([response.status, await response.json()]).toMatchObject([400, { error }]);
      expect(await usageOf(response)).toMatchObject({ outcome: 'refused', status: 400, cost_micros: '0' });
      upstream.answer = json({ error: { message: 'No.', code: 'insufficient_quota' } });
      const ours = await send(ask({ stream }));
      expect([ours.status, ours.headers.get('x-should-retry')]).toEqual([502, 'true']);
    }
    for (const bytes of [0, 8_000, 8_300, 200_000]) {
      const text = ANSWER.replace('"id":"c1"', `"id":"${'x'.repeat(bytes)}", "error": null`);
      upstream.answer = async (response) => {
        response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' });
        for (let at = 0; at < text.length; at += 4_000) {
          response.write(text.slice(at, at + 4_000));
          await new Promise(setImmediate);
        }
        response.end();
      };
      const response = await send(ask());
      expect(await response.text()).toBe(text);
      expect(await usageOf(response)).toMatchObject({ outcome: 'completed', input_tokens: 11 });
    }
  });

  it('M2: passes a stream of single bytes on in pieces of what came together', async () => {
    const BYTES = 30_000;
    upstream.answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (let at = 0; at < BYTES; at++) response.write(':');
      response.end('\n\ndata: [DONE]\n\n');
    };
    let pieces = 0;
    let bytes = 0;
    await new Promise<void>((resolve, reject) => {
      const headers = { authorization: `Bearer ${platform.key}`, 'content-type': 'application/json' };
      const call = request(`${platform.url}${CHATS}`, { method: 'POST', headers }, (response) => {
        response.on('data', (piece: Buffer) => ((pieces += 1), (bytes += piece.length)));
        response.on('end', resolve).on('error', reject);
      });
      // Whoever asked for the usage gets every byte at once, so that nothing else gathers them.
      call.on('error', reject).end(JSON.stringify(ask({ stream: true, stream_options: { include_usage: true } })));
    });
    expect(bytes).toBe(BYTES + '\n\ndata: [DONE]\n\n'.length);
    counted('A chat in single bytes', 'pieces that reach its caller', `${pieces} of ${BYTES}`);
    expect(pieces).toBeLessThan(BYTES / 10);
  });

  it('gives up on a provider that does not begin to answer, or breaks off before it is told', async () => {
    // A process of its own: within this limit, no other chat could count on its answer.
    const hasty = await startApi({ ...platform.settings, CHAT_FIRST_BYTE_TIMEOUT_MS: '1000' });
    upstream.answer = () => undefined;
    const silent = await platform.call(CHATS, { body: ask(), at: hasty });
    await hasty.stop();
    expect([silent.status, silent.headers.get('x-should-retry')]).toEqual([502, 'true']);
    expect(await silent.json()).toMatchObject({ error: { type: 'upstream_error', code: 'upstream_error' } });
    upstream.answer = (response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"id":', () => response.destroy());
    };
    expect((await send(ask())).status).toBe(502);
  });

  it('cuts the stream of a provider that breaks off', async () => {
    upstream.answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(STREAM[0], () => response.destroy());
    };
    const response = await send(ask({ stream: true }));
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow();
    expect(await usageOf(response)).toMatchObject({ outcome: 'broken', input_tokens: null });
  });

  it('leaves the provider when its caller leaves, before and within the answer', async () => {
    upstream.answer = () => undefined;
    const early = new AbortController();
    const waiting = client.chat.completions.create(ask() as never, { signal: early.signal }).catch(() => 'left');
    expect(await waitUntil(() => upstream.received.length === 1, { timeoutMs: 30_000 })).toBe(true);
    early.abort();
    expect(await waiting).toBe('left');
    await upstream.received[0]?.aborted;
    upstream.answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(STREAM[0]);
    };
    const late = new AbortController();
    const response = await platform.call(CHATS, { body: ask({ stream: true }), signal: late.signal });
    await response.body?.getReader().read();
    late.abort();
    await upstream.received[1]?.aborted;
    expect(await usageOf(response)).toMatchObject({ outcome: 'left', status: 200 });
  });

  it.each([
    ['is revoked', 'UPDATE api_keys SET revoked_at = now() WHERE id = $1', 'invalid_api_key'],
    [
      'is of an account that is disabled',
      'UPDATE accounts SET disabled_at = now() WHERE id = (SELECT account_id FROM api_keys WHERE id = $1)',
      'account_disabled',
    ],
  ])('ends when its key %s, before and within the answer', async (_case, statement, code) => {
    const { id, key } = await platform.newKeyWithId({}, await platform.newAccount());
    upstream.answer = (response, { body }) => {
      if (!body.includes('"stream":true')) return;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(STREAM[0]);
    };
    const within = await platform.call(CHATS, { key, body: ask({ stream: true }) });
    expect(within.status).toBe(200);
    const before = platform.call(CHATS, { key, body: ask() });
    expect(await waitUntil(() => upstream.received.length === 2, { timeoutMs: 30_000 })).toBe(true);
    await platform.pool.query(statement, [id]);
    await expect(within.text()).rejects.toThrow();
    const answer = await before;
    const { error } = (await answer.json()) as { error: { code: string } };
    // Nothing that came after the limit of the first byte, which would be a failure of the provider.
    expect(error.code).toBe(code);
    await Promise.all(upstream.received.map(async ({ aborted }) => aborted));
    expect(await usageOf(within)).toMatchObject({ outcome: 'left', status: 200 });
    expect(await usageOf(answer)).toMatchObject({ outcome: 'left', status: 0 });
  });

  it('is one of so many of its account at a time, and each that ends makes room', async () => {
    const accountId = await platform.newAccount();
    const keys = [await platform.newKey({}, accountId), await platform.newKey({}, accountId)];
    upstream.answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(STREAM[0]);
    };
    const leave = new AbortController();
    const open = async (key?: string, signal = leave.signal): Promise<Response> =>
      platform.call(CHATS, { ...(key === undefined ? {} : { key }), body: ask({ stream: true }), signal });
    // Kept: the stream of a Response that is garbage collected is closed.
    const chats = [];
    for (let at = 0; at < MOST_CHATS; at++) chats.push(await open(keys[at % 2]));
    expect(chats.map(({ status }) => status)).toEqual(chats.map(() => 200));
    for (const key of keys) {
      const refused = await open(key);
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '2']);
      expect(await refused.json()).toMatchObject({
        error: {
          code: 'concurrency_limit_exceeded',
          message: `The account is limited to ${MOST_CHATS} chats in progress.`,
        },
      });
    }
    const other = new AbortController();
    const others = await open(undefined, other.signal);
    expect(others.status).toBe(200);
    expect(chats.map(({ bodyUsed }) => bodyUsed)).toEqual(chats.map(() => false));
    leave.abort();
    const isFree = async (): Promise<boolean> => (await open(keys[0], other.signal)).status === 200;
    expect(await waitUntil(isFree, { timeoutMs: 30_000 })).toBe(true);
    expect(others.bodyUsed).toBe(false);
    other.abort();
  });

  it('reads no faster than its caller, and holds little of what is on its way', async () => {
    const filler = event(delta('x'.repeat(60_000)));
    let written = 0;
    let full = false;
    upstream.answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const push = (): void => {
        full = false;
        while (response.write(filler)) written += filler.length;
        full = true;
      };
      response.on('drain', push);
      push();
    };
    const left = new AbortController();
    const response = await platform.call(CHATS, { body: ask({ stream: true }), signal: left.signal });
    let before = -1;
    // Everything between here and there is full when nothing more is taken.
    const still = await waitUntil(
      () => {
        const same = full && written === before;
        before = written;
        return same;
      },
      { timeoutMs: 20_000, everyMs: 500 },
    );
    expect(still).toBe(true);
    expect(written).toBeLessThan(30_000_000);
    left.abort();
    await upstream.received[0]?.aborted;
    expect(response.status).toBe(200);
  });

  it.each<[string, string | Buffer, number, string, string | null]>([
    ['no JSON', '{', 400, 'invalid_json', null],
    ['no UTF-8', Buffer.from('{"model":"gpt-5.5","messages":["é"]}', 'latin1'), 400, 'invalid_json', null],
    ['no object', '[]', 400, 'invalid_json', null],
    ['a model named twice', '{"model":"gpt-5.5","model":"x","messages":[1]}', 400, 'invalid_json', null],
    ['no model', '{"messages":[1]}', 400, 'missing_required_parameter', 'model'],
    ['a model that is no text', '{"model":5,"messages":[1]}', 400, 'invalid_type', 'model'],
    ['no messages', '{"model":"gpt-5.5","messages":null}', 400, 'missing_required_parameter', 'messages'],
    ['empty messages', '{"model":"gpt-5.5","messages":[ ]}', 400, 'array_below_min_length', 'messages'],
    ['messages that are text', '{"model":"gpt-5.5","messages":"hi"}', 400, 'invalid_type', 'messages'],
    ['an unknown model', '{"model":"gpt-1","messages":[1]}', 404, 'model_not_found', 'model'],
  ])('refuses %s and asks nobody', async (_name, body, status, code, param) => {
    const response = await send(body);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ error: { type: 'invalid_request_error', code, param } });
    expect(upstream.received).toHaveLength(0);
  });

  it('hides a model from a key that may not use it, and is at no other address', async () => {
    const key = await platform.newKey({ models: ['renamed'] });
    const response = await platform.call(CHATS, { key, body: ask() });
    expect([response.status, ((await response.json()) as { error: { code: string } }).error.code]).toEqual([
      404,
      'model_not_found',
    ]);
    const listed = (await (await platform.call('/v1/models', { key })).json()) as { data: { id: string }[] };
    expect(listed.data.map(({ id }) => id)).toEqual(['renamed']);
    expect((await platform.call('/chat/completions', { body: ask() })).status).toBe(404);
  });

  it('logs nothing of what is said', async () => {
    upstream.answer = json(ANSWER.replace('stop', 'answer-canary'));
    await (await send(ask({ messages: [{ role: 'user', content: 'question-canary' }] }))).text();
    upstream.answer = json({ error: { message: 'error-canary' } }, 500);
    const last = await send(ask({ messages: [{ role: 'user', content: 'question-canary' }] }));
    await last.text();
    const id = last.headers.get('x-request-id');
    const isLogged = (): boolean =>
      platform.api.logs().some(({ event, requestId }) => event === 'request' && requestId === id);
    expect(await waitUntil(isLogged, { timeoutMs: 30_000 })).toBe(true);
    expect(platform.api.output()).not.toMatch(/question-canary|answer-canary|error-canary|upstream-secret/);
  });
});

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}
