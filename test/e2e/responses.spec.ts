import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import { BudgetRepository } from '#billing/budget.repository.js';
import { waitUntil } from '#embedded/wait-until.js';
import { json, pieces, startChatUpstream, type ChatUpstream } from '../support/chat-upstream.js';
import { freePort } from '../support/free-port.js';
import { databaseOf } from '../support/open-prisma.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';
import { RESPONSE_USAGE, responseEvents, responseOf } from '../support/responses.js';

const RESPONSES = '/v1/responses';
const SECRET = 'upstream-secret-1';
// Spacing, a number beyond a double and unknown fields: what a parser in between would not keep.
const ANSWER = `{"id":"resp_1", "object":"response","error":null,"status":"completed","model":"up","output":[],
  "tools":[{"type":"function","parameters":{"usage":{"input_tokens":0,"output_tokens":0}}}],
  "big":12345678901234567890,"usage":${JSON.stringify(RESPONSE_USAGE)},"metadata":{}}`;
const FUNCTION = { type: 'function', name: 'look', parameters: { type: 'object' }, strict: true };
const STORE_OFF = { store: false };

/**
 * What Codex sends: `ResponsesApiRequest` and `ToolSpec` of openai/codex at 5c159cd93372b0a6a60addeea96ead0b889599e8 and
 * 46a03873c104801867d0892e7e047ed6e26bbb02.
 */
const CODEX = {
  model: 'gpt-5.5',
  instructions: 'You are a coding agent.',
  input: [
    { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Sandbox: read-only.' }] },
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'List the files.' }] },
    { type: 'reasoning', summary: [], content: null, encrypted_content: 'gAAAA' },
    { type: 'function_call', name: 'exec_command', arguments: '{"cmd":"ls"}', call_id: 'call_1' },
    { type: 'function_call_output', call_id: 'call_1', output: 'README.md' },
  ],
  tools: [
    { type: 'function', name: 'exec_command', description: 'Runs.', strict: false, parameters: { type: 'object' } },
    {
      type: 'custom',
      name: 'apply_patch',
      description: 'Edits.',
      format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' },
    },
    {
      type: 'namespace',
      name: 'mcp__docs',
      description: 'Docs.',
      tools: [{ type: 'function', name: 'find', description: 'Finds.', strict: false, parameters: { type: 'object' } }],
    },
    { type: 'tool_search', execution: 'client', description: 'Finds tools.', parameters: { type: 'object' } },
  ] as readonly object[],
  tool_choice: 'auto',
  parallel_tool_calls: true,
  reasoning: { effort: 'medium', summary: 'auto' },
  store: false,
  stream: true,
  include: ['reasoning.encrypted_content'],
  prompt_cache_key: '0199a213-81c0-7800-8aa1-bbab2a035a53',
  text: { verbosity: 'low' },
};

describe('a response through a real provider', () => {
  let platform: ApiPlatform;
  let upstream: ChatUpstream;
  let folder: string;

  beforeAll(async () => {
    upstream = await startChatUpstream();
    folder = await mkdtemp(join(tmpdir(), 'darkroom-responses-'));
    const prices = (more = '') =>
      `prices: [{ from: 2026-01-01, per_million_tokens: { input: 1000, cached_input: 100, output: 2000${more} } }]`;
    await writeFile(
      join(folder, 'models.yaml'),
      `providers:
  up: { type: openai, base_url: "${upstream.url}", keys: [{ env: UP_KEY, name: main }] }
  gone: { type: openai, base_url: "http://127.0.0.1:${await freePort()}/v1" }
  sandbox: { type: sandbox }
models:
  gpt-image-2: { kind: image, routes: [{ provider: up }] }
  gpt-5.5: { kind: chat, routes: [{ provider: up }] }
  renamed: { kind: chat, routes: [{ provider: up, model: "their/name" }] }
  gone-first: { kind: chat, routes: [{ provider: gone }, { provider: up }] }
  priced: { kind: chat, routes: [{ provider: up }], ${prices()} }
  covered: { kind: chat, routes: [{ provider: up }], ${prices(', covers: [tools, background]')} }
  sample: { kind: chat, routes: [{ provider: sandbox }] }
`,
    );
    platform = await startApiPlatform({ MODELS_FILE: join(folder, 'models.yaml'), UP_KEY: SECRET });
  });
  afterAll(async () => {
    await platform.close();
    await upstream.close();
    await rm(folder, { recursive: true, force: true });
  });
  beforeEach(() => {
    upstream.received.length = 0;
    upstream.answer = json(ANSWER);
  });

  const ask = (fields: object = {}): object => ({ model: 'gpt-5.5', input: 'hi', ...fields });

  function send(body: string | object, key?: string): Promise<Response> {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const headers = { 'content-type': 'application/json' };
    return platform.call(RESPONSES, { body: text, headers, ...(key === undefined ? {} : { key }) });
  }

  async function usageOf(response: Response): Promise<Record<string, unknown>> {
    const id = response.headers.get('x-request-id');
    let row: Record<string, unknown> | undefined;
    const written = async (): Promise<boolean> => {
      const { rows } = await platform.pool.query('SELECT * FROM chat_usage WHERE request_id = $1', [id]);
      [row] = rows as Record<string, unknown>[];
      return row !== undefined;
    };
    expect(await waitUntil(written, { timeoutMs: 30_000 })).toBe(true);
    return row ?? {};
  }

  it('passes body and answer on byte for byte, with our key, and counts the usage', async () => {
    const body = `{ "model" : "gpt-5.5","input":[{"role":"user","content":"\\u00e9"}], "seed":12345678901234567890,"store":false }`;
    upstream.answer = json(ANSWER, 200, { 'x-request-id': 'theirs', 'openai-processing-ms': '12' });
    const response = await send(body);
    expect([response.status, await response.text()]).toEqual([200, ANSWER]);
    expect(upstream.received).toMatchObject([
      { path: RESPONSES, body, headers: { authorization: `Bearer ${SECRET}` } },
    ]);
    expect(response.headers.get('openai-processing-ms')).toBe('12');
    expect(response.headers.get('x-request-id')).toMatch(/^req_/);
    expect(await usageOf(response)).toMatchObject({
      model: 'gpt-5.5',
      provider: 'up',
      provider_key: 'main',
      streamed: false,
      status: 200,
      outcome: 'completed',
      input_tokens: 11,
      output_tokens: 7,
      cached_tokens: 4,
      cost_micros: null,
    });
  });

  it('puts the provider’s name of the model in its place, and changes nothing else', async () => {
    await (await send('{"input":"model",\n"model":"renamed" ,"stream":true,"z":1e2}')).text();
    expect(upstream.received[0]?.body).toBe('{"input":"model",\n"model":"their/name" ,"stream":true,"z":1e2}');
  });

  it('changes no byte of a stream, and counts the usage of its last event, however long', async () => {
    for (const length of [10, 100_000]) {
      const tools = [{ ...FUNCTION, parameters: { usage: { input_tokens: 0, output_tokens: 0 } } }];
      const text = responseEvents(responseOf({ instructions: 'x'.repeat(length), tools })).join('');
      const cuts = [0, 7, text.indexOf('"usage":null') + 3, text.lastIndexOf('"input_tokens"'), text.length];
      upstream.answer = pieces(cuts.map((at, index) => text.slice(at, cuts[index + 1])));
      const body = JSON.stringify(ask({ stream: true }));
      const response = await send(body);
      expect(response.headers.get('content-type')).toBe('text/event-stream');
      expect(await response.text()).toBe(text);
      expect(upstream.received.at(-1)?.body).toBe(body);
      expect(await usageOf(response)).toMatchObject({ streamed: true, input_tokens: 11, output_tokens: 7 });
    }
  });

  it('is to the SDK what the provider is', async () => {
    const [ours, theirs] = [`${platform.url}/v1`, upstream.url].map(
      (baseURL) => new OpenAI({ baseURL, apiKey: platform.key, maxRetries: 0 }),
    );
    for (const store of [false, true]) {
      const question = { model: 'gpt-5.5', input: 'hi', store };
      const outcomes = await Promise.all([ours, theirs].map(async (client) => client?.responses.create(question)));
      expect(outcomes[0]).toEqual(outcomes[1]);
    }
    upstream.answer = pieces(responseEvents());
    const streams = await Promise.all(
      [ours, theirs].map(async (client) => {
        const stream = client?.responses.stream({ model: 'gpt-5.5', input: 'hi' });
        return (await stream?.finalResponse())?.output_text;
      }),
    );
    expect(streams).toEqual(['Here you are.', 'Here you are.']);
  });

  it('passes a response whose model has failed on, and tells errors of the provider as those of a chat', async () => {
    const failed = JSON.stringify(responseOf({ status: 'failed', error: { code: 'server_error', message: 'No.' } }));
    upstream.answer = json(failed);
    const response = await send(ask());
    expect([response.status, await response.text()]).toEqual([200, failed]);
    const error = {
      message: 'Too long.',
      type: 'invalid_request_error',
      param: 'input',
      code: 'context_length_exceeded',
    };
    for (const status of [200, 400]) {
      upstream.answer = json({ error }, status);
      const refused = await send(ask());
      expect([refused.status, await refused.json()]).toEqual([
        400,
        { type: 'error', error, request_id: refused.headers.get('x-request-id') },
      ]);
    }
  });

  it('goes to the next route while no byte was sent', async () => {
    const response = await send(ask({ model: 'gone-first' }));
    expect([response.status, await response.text()]).toEqual([200, ANSWER]);
    expect(await usageOf(response)).toMatchObject({ model: 'gone-first', provider: 'up' });
  });

  it('costs what its usage costs, streamed or not, and in the background what was reserved', async () => {
    // 7 new and 4 cached tokens of input, and 7 of output.
    const cost = String(7 * 1_000 + 4 * 100 + 7 * 2_000);
    const tools = [FUNCTION, { type: 'custom', name: 'c', format: { type: 'text' } }];
    expect(await usageOf(await send(ask({ model: 'priced', tools })))).toMatchObject({ cost_micros: cost });
    upstream.answer = pieces(responseEvents());
    const streamed = await send(ask({ model: 'priced', stream: true }));
    await streamed.text();
    expect(await usageOf(streamed)).toMatchObject({ cost_micros: cost });
    upstream.answer = json(responseOf({ status: 'queued', output: [], usage: null }));
    const body = JSON.stringify(ask({ model: 'covered', background: true, max_output_tokens: 100 }));
    const reserved = Math.ceil(body.length / 4) * 1_000 + 100 * 2_000;
    expect(await usageOf(await send(body))).toMatchObject({ outcome: 'completed', cost_micros: String(reserved) });
  });

  it('is refused once a budget is used up, to a key without the permission, and with a model that it may not use', async () => {
    const { id, key } = await platform.newKeyWithId();
    const budgets = new BudgetRepository(databaseOf(platform));
    await budgets.set({ ownerId: id, owner: 'key' }, { limit: 1, period: 'total' });
    const last = await send(ask({ model: 'priced' }), key);
    expect(last.status).toBe(200);
    await usageOf(last);
    expect((await send(ask({ model: 'priced' }), key)).status).toBe(402);
    upstream.received.length = 0;
    const others = await platform.newKey({ scopes: ['images'] });
    const refused = await send(ask(), others);
    expect([refused.status, upstream.received.length]).toEqual([403, 0]);
    const narrow = await platform.newKey({ models: ['renamed'] });
    expect((await send(ask(), narrow)).status).toBe(404);
  });

  it('serves Codex: its request as its source builds it, and the events that it reads', async () => {
    const events = responseEvents(responseOf({ id: 'resp_codex' })).join('');
    upstream.answer = pieces([events]);
    const headers = { accept: 'text/event-stream', 'content-type': 'application/json', originator: 'codex_exec' };
    for (const [model, hosted] of [
      ['gpt-5.5', [{ type: 'web_search', external_web_access: false }]],
      ['priced', []],
    ] as const) {
      const body = JSON.stringify({ ...CODEX, model, tools: [...CODEX.tools, ...hosted] });
      const response = await platform.call(RESPONSES, { body, headers });
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
      expect(await response.text()).toBe(events);
      expect(upstream.received.at(-1)?.body).toBe(body);
      expect(await usageOf(response)).toMatchObject({ streamed: true, input_tokens: 11, cached_tokens: 4 });
    }
    // Nothing is stored, so nothing is kept of it.
    const kept = `SELECT 1 FROM stored_responses WHERE id = 'resp_codex'`;
    expect((await platform.pool.query(kept)).rows).toHaveLength(0);
  });

  const CASES: readonly [string, object | string, number, string | null, string | null][] = [
    ['no JSON', '{', 400, 'invalid_json', null],
    ['no model', { input: 'hi' }, 400, 'missing_required_parameter', 'model'],
    ['an unknown model', ask({ model: 'gpt-1' }), 404, 'model_not_found', 'model'],
    ['an image model', ask({ model: 'gpt-image-2' }), 400, 'invalid_value', 'model'],
    ['a model without Responses', ask({ model: 'sample' }), 400, 'invalid_value', 'model'],
    [
      'the image tool',
      ask({ tools: [FUNCTION, { type: 'image_generation' }] }),
      400,
      'unsupported_parameter',
      'tools[1]',
    ],
    [
      'a tool with a price',
      ask({ model: 'priced', tools: [{ type: 'web_search' }] }),
      400,
      'unsupported_parameter',
      'tools',
    ],
    [
      'a tool within another',
      ask({ model: 'priced', tools: [{ type: 'namespace', name: 'n', tools: [{ type: 'mcp' }] }] }),
      400,
      'unsupported_parameter',
      'tools',
    ],
    [
      'tools in an item',
      ask({ model: 'priced', input: [{ type: 'additional_tools', tools: [] }] }),
      400,
      'unsupported_parameter',
      'input',
    ],
    [
      'tools in an item, escaped',
      '{"model":"priced","input":[{"t\\u006fols":[]}]}',
      400,
      'unsupported_parameter',
      'input',
    ],
    ['the background', ask({ model: 'priced', background: true }), 400, 'unsupported_parameter', 'background'],
    ['a stored prompt', ask({ model: 'priced', prompt: { id: 'p' } }), 400, 'unsupported_parameter', 'prompt'],
    ['another spelling', ask({ maxOutputTokens: 5 }), 400, 'unsupported_parameter', 'max_output_tokens'],
    ['a conversation', ask({ conversation: 'conv_1' }), 400, 'unsupported_parameter', 'conversation'],
  ];
  it.each(CASES)('refuses %s and asks nobody', async (_name, body, status, code, param) => {
    const response = await send(body);
    const { error } = (await response.json()) as { error: { message: string } };
    expect([response.status, error]).toMatchObject([status, { code, param }]);
    expect(upstream.received).toHaveLength(0);
    if (/image/.test(_name)) expect(error.message).toContain('/v1/images/generations');
  });

  it('offers every tool where the price covers them', async () => {
    const tools = [{ type: 'image_generation' }, { type: 'web_search' }];
    expect((await send(ask({ model: 'covered', tools, input: [{ type: 'additional_tools', tools }] }))).status).toBe(
      200,
    );
    expect((await send(ask({ model: 'gpt-5.5', tools: [{ type: 'web_search' }], ...STORE_OFF }))).status).toBe(200);
  });
});
