import type { ServerResponse } from 'node:http';
import { waitUntil } from '#embedded/wait-until.js';
import { event, json, pieces, startChatUpstream, type ChatUpstream } from '../support/chat-upstream.js';
import { openHangUpRoom, type HangUpRoom, type Payer } from '../support/hang-ups.js';
import { patientSetting } from '../support/patience.js';
import { responseEvents, responseOf } from '../support/responses.js';

const CHATS = '/v1/chat/completions';
const USAGE = { prompt_tokens: 500, completion_tokens: 300, total_tokens: 800 };
/** Of 1,000 millionths a token. */
const BILL = 800_000;
const chunk = (fields: object): object => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  ...fields,
});
const delta = (content: string): string =>
  event(chunk({ choices: [{ index: 0, delta: { content }, finish_reason: null }] }));
const FINISH = event(chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }));
const USED = event(chunk({ choices: [], usage: USAGE }));
const HEAD = { 'content-type': 'text/event-stream' };

const catalogOf = (upstream: ChatUpstream): string => `providers:
  up: { type: openai, base_url: "${upstream.url}", keys: [{ env: UP_KEY }] }
  own: { type: openai, base_url: "${upstream.url}", keys: [{ env: UP_KEY }], free: true }
models:
  talk:
    kind: chat
    routes: [{ provider: up }]
    prices: [{ from: 2026-01-01, per_million_tokens: { input: 1000, output: 1000 } }]
  any-tier:
    kind: chat
    routes: [{ provider: up }]
    prices: [{ from: 2026-01-01, per_million_tokens: { input: 1000, output: 1000, covers: [service_tier] } }]
  own-talk: { kind: chat, routes: [{ provider: own }] }
`;

/** Chats with a price, whose callers leave when they have what they wanted. */
describe('hanging up on a chat', () => {
  let room: HangUpRoom;
  let upstream: ChatUpstream;
  beforeAll(async () => {
    upstream = await startChatUpstream();
    // Longer than a busy machine takes to bring what comes after a caller has left.
    room = await openHangUpRoom(catalogOf(upstream), { CHAT_AFTER_HANGUP_MS: patientSetting(20_000) });
  });
  afterAll(async () => {
    await room.close();
    await upstream.close();
  });
  beforeEach(() => {
    upstream.received.length = 0;
  });

  const ask = (fields: object = {}): object => ({
    model: 'talk',
    messages: [{ role: 'user', content: 'hello' }],
    ...fields,
  });

  const departures = (): number =>
    room.platform.api.logs().filter((line) => line['event'] === 'request.aborted').length;
  /** For an upstream: until the API knows that one more caller has left, which it does before it cuts the call off. */
  const callerGone = async (before: number): Promise<void> => {
    const isGone = await waitUntil(() => departures() > before, { timeoutMs: 30_000 });
    if (!isGone) throw new Error('the API does not know that its caller has left');
  };

  /** Leaves as soon as this has been read of the answer, or when the upstream has the call. */
  async function leave({ key }: Payer, body: object, until?: string, path = CHATS): Promise<void> {
    const calls = upstream.received.length;
    const gone = new AbortController();
    const call = room.platform.call(path, { key, body, signal: gone.signal });
    if (until === undefined) {
      expect(await waitUntil(() => upstream.received.length > calls, { timeoutMs: 30_000 })).toBe(true);
    } else {
      let text = '';
      for await (const part of (await call).body as unknown as AsyncIterable<Uint8Array>) {
        text += Buffer.from(part).toString();
        if (text.includes(until)) break;
      }
    }
    gone.abort();
    await call.catch(() => undefined);
  }

  /** What is written down of the payer's only chat, once it is. */
  async function writtenOf({ id }: Payer): Promise<Record<string, unknown>> {
    let row: Record<string, unknown> | undefined;
    const find = async (): Promise<boolean> => {
      const { rows } = await room.platform.pool.query('SELECT * FROM chat_usage WHERE api_key_id = $1', [id]);
      [row] = rows as Record<string, unknown>[];
      return row !== undefined;
    };
    expect(await waitUntil(find, { timeoutMs: 30_000 })).toBe(true);
    return row ?? {};
  }

  it('H4: a stream closed after its finish reason costs what its provider counts afterwards, twice of two', async () => {
    upstream.answer = async (response) => {
      const before = departures();
      response.writeHead(200, HEAD).write(delta('hi') + FINISH);
      await callerGone(before);
      response.end(USED + event('[DONE]'));
    };
    for (const price of [BILL, BILL]) {
      const payer = await room.newPayer(10_000_000);
      await leave(payer, ask({ stream: true }), '"stop"');
      expect(await payer.spends(price)).toBe(price);
      expect(await writtenOf(payer)).toMatchObject({ outcome: 'left', output_tokens: 300, cost_micros: String(price) });
    }
  });

  it('H4: a stream of a response closed after its text costs what its provider counts afterwards', async () => {
    const events = responseEvents(responseOf({ usage: { input_tokens: 500, output_tokens: 300, total_tokens: 800 } }));
    upstream.answer = async (response) => {
      const before = departures();
      response.writeHead(200, HEAD).write(events.slice(0, -1).join(''));
      await callerGone(before);
      response.end(events.at(-1));
    };
    const payer = await room.newPayer(10_000_000);
    await leave(payer, { model: 'talk', input: 'hello', stream: true }, 'response.output_text.done', '/v1/responses');
    expect(await payer.spends(BILL)).toBe(BILL);
    expect(await writtenOf(payer)).toMatchObject({ outcome: 'left', output_tokens: 300 });
  });

  it('H4: an answer in one piece whose caller left before it came costs what its provider counted', async () => {
    upstream.answer = async (response, call) => {
      await callerGone(departures());
      return json({ id: 'c', choices: [], usage: USAGE })(response, call);
    };
    const payer = await room.newPayer(10_000_000);
    await leave(payer, ask());
    expect(await payer.spends(BILL)).toBe(BILL);
  });

  it('H4: a stream without an end is cut off after so many bytes, and costs a token for each event', async () => {
    let sent = 0;
    upstream.answer = (response) => {
      response.writeHead(200, HEAD);
      const push = (): void => {
        while (!response.destroyed && response.write(delta('word'))) sent++;
      };
      response.on('drain', push);
      push();
    };
    const payer = await room.newPayer(1_000_000_000);
    await leave(payer, ask({ stream: true }), 'word');
    await upstream.received[0]?.aborted;
    const row = await writtenOf(payer);
    expect(Number(row['cost_micros'])).toBeGreaterThan(1_000_000);
    expect(Number(row['cost_micros'])).toBeLessThan((sent + 1_000) * 1_000);
  });

  it('H4: what was seen of a provider that breaks off is paid for by estimate', async () => {
    upstream.answer = (response) => {
      response.writeHead(200, HEAD).write(delta('a') + delta('b') + delta('c'), () => response.destroy());
    };
    const payer = await room.newPayer(10_000_000);
    const answer = await room.platform.call(CHATS, { key: payer.key, body: ask({ stream: true }) });
    await expect(answer.text()).rejects.toThrow();
    const body = Math.ceil(JSON.stringify(ask({ stream: true })).length / 4);
    const estimate = (body + 3) * 1_000;
    expect(await payer.spends(estimate)).toBe(estimate);
    expect(await writtenOf(payer)).toMatchObject({
      outcome: 'broken',
      input_tokens: null,
      cost_micros: String(estimate),
    });
  });

  it('H4: a stream that ends without a usage is estimated, never free', async () => {
    upstream.answer = pieces([delta('a'), delta('b'), FINISH, event('[DONE]')]);
    const payer = await room.newPayer(10_000_000);
    await (await room.platform.call(CHATS, { key: payer.key, body: ask({ stream: true }) })).text();
    const cost = Number((await writtenOf(payer))['cost_micros']);
    const input = Math.ceil(JSON.stringify(ask({ stream: true })).length / 4) * 1_000;
    expect(cost).toBeGreaterThanOrEqual(input + 3_000);
    expect(cost).toBeLessThanOrEqual(input + 9_000);
    expect(await payer.spends(cost)).toBe(cost);
  });

  const page = (status: number) => (response: ServerResponse) =>
    void response.writeHead(status, { 'content-type': 'text/html' }).end('<html>');
  const refusal = (status: number) => json({ error: { message: 'no' } }, status);

  it.each([
    ['a gateway that stopped waiting (504), whatever it says', refusal(504)],
    ['a gateway that stopped waiting (524)', page(524)],
    ['a page of a gateway (502)', page(502)],
    ['a page of a gateway (520)', page(520)],
  ])('H4: %s costs the estimate, for the provider may have answered', async (_name, script) => {
    upstream.answer = script;
    const payer = await room.newPayer(10_000_000);
    await (await room.platform.call(CHATS, { key: payer.key, body: ask() })).text();
    const estimate = Math.ceil(JSON.stringify(ask()).length / 4) * 1_000;
    expect(await writtenOf(payer)).toMatchObject({ outcome: 'unanswered', cost_micros: String(estimate) });
    expect(await payer.spends(estimate)).toBe(estimate);
  });

  it.each([
    ["the provider's own error with a 502", refusal(502)],
    ['an error of the provider', refusal(500)],
    ['a page of a proxy that has no server to ask (503)', page(503)],
    ['a request that is wrong', refusal(400)],
  ])('%s costs nothing', async (_name, script) => {
    upstream.answer = script;
    const payer = await room.newPayer(10_000_000);
    await (await room.platform.call(CHATS, { key: payer.key, body: ask() })).text();
    expect(await writtenOf(payer)).toMatchObject({ outcome: 'refused', cost_micros: '0' });
    expect(await payer.spent()).toBe(0);
  });

  it('H4: chats that begin at one moment do not exceed a budget by more than the last of them', async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    upstream.answer = async (response, call) => {
      await held;
      return json({ id: 'c', choices: [], usage: USAGE })(response, call);
    };
    // Each may cost a little more than 1,000,000, so that three use it up.
    const payer = await room.newPayer(2_500_000);
    const say = () => room.platform.call(CHATS, { key: payer.key, body: ask({ max_tokens: 1_000 }) });
    const calls = Array.from({ length: 30 }, say);
    const statuses: number[] = [];
    const refused = calls.map((call) => call.then(({ status }) => statuses.push(status) > 0 && status === 402));
    expect(await waitUntil(() => upstream.received.length === 3, { timeoutMs: 30_000 })).toBe(true);
    // What comes when the first have ended may go on: they have cost less than was set aside for them.
    expect(await waitUntil(() => statuses.length === 27, { timeoutMs: 30_000 })).toBe(true);
    expect(await payer.spent()).toBeGreaterThan(3_000_000);
    release();
    expect((await Promise.all(refused)).filter(Boolean)).toHaveLength(27);
    expect(upstream.received).toHaveLength(3);
    expect(await payer.spends(3 * BILL)).toBe(3 * BILL);
    expect((await say()).status).toBe(200);
  });

  it('a provider that refuses is not followed by another when the caller has left, and costs nothing', async () => {
    upstream.answer = async (response, call) => {
      await callerGone(departures());
      return json({ error: { message: 'busy' } }, 500)(response, call);
    };
    const payer = await room.newPayer(10_000_000);
    await leave(payer, ask());
    const row = await writtenOf(payer);
    expect(upstream.received).toHaveLength(1);
    expect(row).toMatchObject({ cost_micros: '0' });
    expect(await payer.spent()).toBe(0);
  });

  it.each([
    ['"Stream":true', 'stream'],
    ['"\\u0053tream":true', 'stream'],
    ['"\\u017ftream":true', 'stream'],
    ['"STREAM":true', 'stream'],
    ['"streamOptions":{"includeUsage":false}', 'stream_options'],
    ['"Stream_Options":{"include_usage":false}', 'stream_options'],
    ['"stream":true,"stream_options":{"include_usage":true,"Include_Usage":false}', 'include_usage'],
    ['"Max_Tokens":9', 'max_tokens'],
    ['"N":9', 'n'],
    ['"Service_Tier":"priority"', 'service_tier'],
    ['"Messages":[1]', 'messages'],
    ['"Model":"x"', 'model'],
    ['"service_tier":"priority"', 'service_tier'],
    ['"service_tier":["priority"]', 'service_tier'],
    ['"web_search_options":{}', 'web_search_options'],
    ['"modalities":["text","audio"]', 'modalities'],
    ['"tools":[{"type":"function","function":{"name":"f"}},{"type":"web_search"}]', 'tools'],
    ['"tools":[{"name":"f"}]', 'tools'],
    ['"tools":[{"type":"web_search","type":"function"}]', 'tools'],
    ['"tools":[{"type":"function","function":{"name":"f","name":"g"}}]', 'tools'],
    ['"tools":[{"type":"web_search","t\\u0079pe":"function"}]', 'tools'],
    ['"tools":[{"type":"function","Type":"web_search"}]', 'tools'],
    ['"tools":[{"type":"function","googleSearch":{}}]', 'tools'],
    ['"tools":[null]', 'tools'],
    ['"models":["x/dear"]', 'models'],
    ['"preset":"dear"', 'preset'],
    ['"provider_options":{"gateway":{"models":["x/dear"]}}', 'providerOptions'],
    ['"data_sources":[{"type":"azure_search"}]', 'data_sources'],
    ['"dataSources":[{"type":"azure_search"}]', 'data_sources'],
    ['"connectors":[{"id":"web-search"}]', 'connectors'],
    ['"web_search":true', 'web_search'],
    ['"web_search":{"enable":true}', 'web_search'],
    ['"enable_search":true', 'enable_search'],
  ])('M6: %s is refused, and nobody is asked', async (fields, param) => {
    const body = `{"model":"talk","messages":[{"role":"user","content":"x"}],${fields}}`;
    const answer = await room.platform.call(CHATS, { body, headers: { 'content-type': 'application/json' } });
    expect([answer.status, await answer.json()]).toMatchObject([
      400,
      { error: { type: 'invalid_request_error', code: 'unsupported_parameter', param } },
    ]);
    expect(upstream.received).toHaveLength(0);
  });

  it('M6: what costs no more, or is covered by the price, or free, is passed on', async () => {
    upstream.answer = json({ id: 'c', choices: [], usage: USAGE });
    for (const fields of [
      { service_tier: 'flex', modalities: ['text'], web_search_options: null, web_search: false },
      { tools: [{ type: 'function', function: { name: 'f', parameters: { properties: { Type: {}, type: {} } } } }] },
      { model: 'any-tier', service_tier: 'priority' },
      { model: 'own-talk', service_tier: 'priority', models: ['x'] },
    ]) {
      expect((await room.platform.call(CHATS, { body: ask(fields) })).status).toBe(200);
      expect(JSON.parse(upstream.received.at(-1)?.body ?? '')).toEqual(ask(fields));
    }
  });

  it('a chat that nobody charges for is cut off with its caller, before and within its answer', async () => {
    const payer = await room.newPayer(10_000_000);
    const other = await room.newPayer(10_000_000);
    const cut: string[] = [];
    let finish = (): void => undefined;
    upstream.answer = (response, call) => {
      const { model, stream } = JSON.parse(call.body) as { model: string; stream?: boolean };
      void call.aborted.then(() => cut.push(model));
      if (model === 'talk') finish = () => void json({ id: 'c', choices: [], usage: USAGE })(response, call);
      else if (stream === true) response.writeHead(200, HEAD).write(delta('a'));
    };
    // One that is charged is read on, and left first: no delay makes it the first to be cut off.
    await leave(other, ask());
    await leave(payer, ask({ model: 'own-talk' }));
    await leave(payer, ask({ model: 'own-talk', stream: true }), '"a"');
    expect(await waitUntil(() => cut.length === 2, { timeoutMs: 30_000 })).toBe(true);
    expect(cut).toEqual(['own-talk', 'own-talk']);
    finish();
    expect(await other.spends(BILL)).toBe(BILL);
    expect(await payer.spent()).toBe(0);
  });

  describe('that is over soon', () => {
    beforeAll(async () => {
      await room.close();
      room = await openHangUpRoom(catalogOf(upstream), { CHAT_AFTER_HANGUP_MS: '2000' });
    });

    it.each([
      ['an answer that never begins', {}],
      ['a stream that never begins', { stream: true }],
    ])('H4: %s is cut off in time, and costs what the provider may have written in it', async (_name, fields) => {
      upstream.answer = () => undefined;
      const payer = await room.newPayer(10_000_000);
      await leave(payer, ask(fields));
      await upstream.received[0]?.aborted;
      const row = await writtenOf(payer);
      // 50 tokens a second for the two seconds that it was read on at least.
      expect(Number(row['cost_micros'])).toBeGreaterThanOrEqual(100_000);
      expect(await payer.spends(Number(row['cost_micros']))).toBe(Number(row['cost_micros']));
    });
  });
});
