import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from '#embedded/wait-until.js';
import { endedBatch, lineOf, resultsIn, startBatch, uploadLines } from '../support/batches.js';
import { json, startChatUpstream, type ChatUpstream } from '../support/chat-upstream.js';
import { signInFirstAdmin } from '../support/console.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';
import { startApi } from '../support/processes.js';

const CHATS = '/v1/chat/completions';
const RESPONSES = '/v1/responses';
// Line breaks and a number beyond a double: what a parser in between would not keep.
const ANSWER = `{"id":"c1",
  "choices":[{"index":0,"message":{"role":"assistant","content":"caf\\u00e9 \\u0000"},"finish_reason":"stop"}],
  "big":12345678901234567890,"usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18}}`;

describe('batches of chats', () => {
  let upstream: ChatUpstream;
  let platform: ApiPlatform;
  let folder: string;

  beforeAll(async () => {
    upstream = await startChatUpstream();
    folder = await mkdtemp(join(tmpdir(), 'darkroom-batch-chats-'));
    const file = `providers:
  up: { type: openai, base_url: "${upstream.url}", keys: [{ env: UP_KEY }] }
models:
  gpt-image-2: { kind: image, routes: [{ provider: up }] }
  gpt-5.5: { kind: chat, routes: [{ provider: up }] }
  covered:
    kind: chat
    routes: [{ provider: up }]
    prices: [{ from: 2026-01-01, per_million_tokens: { input: 1, output: 1, covers: [tools] } }]
`;
    await writeFile(join(folder, 'models.yaml'), file);
    platform = await startApiPlatform({ MODELS_FILE: join(folder, 'models.yaml'), UP_KEY: 'k' });
  });
  afterAll(async () => {
    await platform.close();
    await upstream.close();
    await rm(folder, { recursive: true, force: true });
  });
  beforeEach(() => {
    upstream.received.length = 0;
  });

  const chat = (customId: string, content: string, fields: object = {}): object =>
    lineOf(customId, { model: 'gpt-5.5', messages: [{ role: 'user', content }], ...fields }, CHATS);
  const sent = (word: string): number => upstream.received.filter(({ body }) => body.includes(word)).length;
  const codeOf = (body: unknown): unknown => (body as { error?: { code?: unknown } } | undefined)?.error?.code;

  it('have each answer as its provider wrote it, and each error as over HTTP', async () => {
    upstream.answer = (response, request) =>
      request.body.includes('too hard')
        ? json({ error: { message: 'No.', type: 'invalid_request_error', code: 'too_hard' } }, 400)(response, request)
        : json(ANSWER)(response, request);
    const lines = [
      chat('first', 'hi', { user: 'someone', tags: ['night'] }),
      chat('refused', 'too hard'),
      chat('streamed', 'hi', { stream: true }),
      chat('image', 'hi', { model: 'gpt-image-2' }),
      chat('unknown', 'hi', { model: 'gpt-none' }),
      chat('last', 'hello'),
    ];
    const { id } = await startBatch(platform, lines, { endpoint: CHATS });
    const batch = await endedBatch(platform, id);
    expect(batch).toMatchObject({
      status: 'completed',
      endpoint: CHATS,
      request_counts: { total: 6, completed: 2, failed: 4 },
    });
    const file = await platform.call(`/v1/files/${batch.output_file_id}/content`);
    expect(await file.text()).toContain('"big":12345678901234567890');
    const output = await resultsIn(platform, batch.output_file_id);
    expect(output.map(({ custom_id: customId }) => customId)).toEqual(['first', 'last']);
    for (const { response } of output) {
      expect(response).toMatchObject({
        status_code: 200,
        request_id: expect.stringMatching(/^req_/) as string,
        body: { choices: [{ message: { content: 'café \u0000' } }], usage: { total_tokens: 18 } },
      });
    }
    const errors = await resultsIn(platform, batch.error_file_id);
    expect(
      errors.map(({ custom_id: customId, response }) => [customId, response?.status_code, codeOf(response?.body)]),
    ).toEqual([
      ['refused', 400, 'too_hard'],
      ['streamed', 400, 'invalid_value'],
      ['image', 400, 'invalid_value'],
      ['unknown', 404, 'model_not_found'],
    ]);
    const text = 'SELECT request_id, tags FROM chat_usage WHERE request_id = ANY($1)';
    const ids = output.map(({ response }) => response?.request_id);
    const counted = async (): Promise<boolean> => (await platform.pool.query(text, [ids])).rowCount === 2;
    expect(await waitUntil(counted, { timeoutMs: 60_000 })).toBe(true);
    expect(upstream.received).toHaveLength(3);
  });

  it('are sent again while no provider can have answered', async () => {
    upstream.answer = (response, request) =>
      sent('busy') === 1
        ? json({ error: { message: 'Busy.' } }, 429)(response, request)
        : json(ANSWER)(response, request);
    const { id } = await startBatch(platform, [chat('a', 'busy')], { endpoint: CHATS });
    expect(await endedBatch(platform, id)).toMatchObject({ request_counts: { total: 1, completed: 1, failed: 0 } });
    expect(sent('busy')).toBe(2);
  });

  it('have all but images, which rows have no room for, and are not read beyond what is kept', async () => {
    const header = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
    // Longer than a response that can be kept.
    const png = Buffer.concat([header, Buffer.alloc(1_500_000)]).toString('base64');
    let aborted: Promise<void> | undefined;
    upstream.answer = (response, request) => {
      if (!request.body.includes('endless')) {
        const message = { role: 'assistant', content: `![image](data:image/png;base64,${png})` };
        void json({ id: 'c1', choices: [{ index: 0, message }] })(response, request);
        return;
      }
      aborted = request.aborted;
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write(`{"id":"c1","text":"${'x'.repeat(1_500_000)}`);
    };
    const lines = [
      chat('modalities', 'hi', { modalities: ['text', 'image'] }),
      chat('unasked', 'hi'),
      chat('long', 'endless'),
    ];
    const batch = await endedBatch(platform, (await startBatch(platform, lines, { endpoint: CHATS })).id);
    const tools = [{ type: 'image_generation' }];
    const drawn = lineOf('tool', { model: 'covered', input: 'hi', tools }, RESPONSES);
    const other = await endedBatch(platform, (await startBatch(platform, [drawn], { endpoint: RESPONSES })).id);
    const errors = [
      ...(await resultsIn(platform, batch.error_file_id)),
      ...(await resultsIn(platform, other.error_file_id)),
    ];
    expect(errors.map(({ custom_id: customId, response }) => [customId, codeOf(response?.body)])).toEqual([
      ['modalities', 'unsupported_parameter'],
      ['long', 'upstream_error'],
      ['tool', 'unsupported_parameter'],
    ]);
    expect(upstream.received).toHaveLength(2);
    await aborted;
    const output = await resultsIn(platform, batch.output_file_id);
    const content = '![image](data:image/png;base64,)';
    expect(output).toMatchObject([
      { custom_id: 'unasked', response: { status_code: 200, body: { choices: [{ message: { content } }] } } },
    ]);
  });

  it('are shown in the console if they failed, however long the first of their responses is', async () => {
    upstream.answer = (response, request) =>
      request.body.includes('too hard')
        ? json({ error: { message: 'No.', code: 'too_hard' } }, 400)(response, request)
        : json({ id: 'c1', choices: [], text: 'x'.repeat(100_000) }, 201)(response, request);
    const lines = [chat('long', 'hi'), chat('refused', 'too hard')];
    const { id } = await startBatch(platform, lines, { endpoint: CHATS });
    expect(await endedBatch(platform, id)).toMatchObject({ request_counts: { total: 2, failed: 2 } });
    const ada = await signInFirstAdmin(platform);
    const { failed_lines: failed } = await ada.ask<{ failed_lines: unknown }>(`/batches/${id}`);
    expect(failed).toEqual([
      { custom_id: 'long', code: 'error', message: 'The request failed.' },
      { custom_id: 'refused', code: 'too_hard', message: 'No.' },
    ]);
  });

  it('are never sent again when their process was killed, and say so', async () => {
    const doomed = await startApi(platform.settings);
    let answerAll: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (answerAll = resolve));
    upstream.answer = async (response, request) => {
      if (request.body.includes('held')) await held;
      await json(ANSWER)(response, request);
    };
    try {
      const lines = [chat('held', 'held'), chat('answered', 'hi')];
      const { id } = await startBatch(platform, lines, { endpoint: CHATS });
      const areSent = (): boolean => sent('held') === 1 && sent('"hi"') === 1;
      expect(await waitUntil(areSent, { timeoutMs: 60_000 })).toBe(true);
      // Whichever process has the call: both are gone then, with all that they knew.
      doomed.kill('SIGKILL');
      platform.api.kill('SIGKILL');
      await Promise.all([doomed.exited, platform.api.exited]);
      await platform.pool.query(
        `UPDATE batch_lines SET leased_until = now() - interval '1 second' WHERE batch_id = $1`,
        [id],
      );
      const next = await startApi(platform.settings);
      try {
        const at = { url: next.url };
        const batch = await endedBatch(platform, id, { at });
        expect(batch.request_counts.total).toBe(2);
        const errors = await resultsIn(platform, batch.error_file_id, { at });
        expect(errors.find(({ custom_id: customId }) => customId === 'held')).toMatchObject({
          response: null,
          error: { code: 'interrupted' },
        });
        expect([sent('held'), sent('"hi"')]).toEqual([1, 1]);
      } finally {
        await next.stop();
      }
    } finally {
      answerAll();
    }
  });
});

describe('batches of Responses', () => {
  it('are passed on, with a key that may chat', async () => {
    const upstream = await startChatUpstream();
    const folder = await mkdtemp(join(tmpdir(), 'darkroom-batch-responses-'));
    const file = `providers:
  up: { type: openai, base_url: "${upstream.url}", keys: [{ env: UP_KEY }] }
models:
  gpt-5.5: { kind: chat, routes: [{ provider: up }] }
`;
    await writeFile(join(folder, 'models.yaml'), file);
    const platform = await startApiPlatform({ MODELS_FILE: join(folder, 'models.yaml'), UP_KEY: 'k' });
    try {
      upstream.answer = json({
        id: 'resp_1',
        object: 'response',
        output: [],
        usage: { input_tokens: 1, output_tokens: 1 },
      });
      const line = lineOf('a', { model: 'gpt-5.5', input: 'hi', store: false }, RESPONSES);
      const batch = await endedBatch(platform, (await startBatch(platform, [line], { endpoint: RESPONSES })).id);
      expect(batch.request_counts).toEqual({ total: 1, completed: 1, failed: 0 });
      expect(upstream.received.map(({ path }) => path)).toEqual([RESPONSES]);
      const key = await platform.newKey({ scopes: ['images'] });
      const input = await uploadLines(platform, [line], { key });
      const body = { input_file_id: input, endpoint: RESPONSES, completion_window: '24h' };
      expect((await platform.call('/v1/batches', { key, body })).status).toBe(403);
    } finally {
      await platform.close();
      await upstream.close();
      await rm(folder, { recursive: true, force: true });
    }
  });
});
