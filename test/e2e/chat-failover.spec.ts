import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../support/free-port.js';
import { json, pieces, startChatUpstream, type ChatUpstream } from '../support/chat-upstream.js';
import { startPlatform, type Platform } from '../support/platform.js';

const GOOD = json({ id: 'good', choices: [] });

/** Two servers, the first with two keys, and before them one that is not there. */
describe('a chat whose provider fails', () => {
  let platform: Platform;
  let [first, second]: ChatUpstream[] = [];
  let folder: string;

  beforeAll(async () => {
    [first, second] = [await startChatUpstream(), await startChatUpstream()];
    folder = await mkdtemp(join(tmpdir(), 'darkroom-chat-'));
    await writeFile(
      join(folder, 'models.yaml'),
      `providers:
  gone: { type: openai, base_url: "http://127.0.0.1:${await freePort()}/v1" }
  first: { type: openai, base_url: "${first.url}", keys: [{ env: KEY_A }, { env: KEY_B }] }
  second: { type: openai, base_url: "${second.url}", options: { stream_usage: false } }
models:
  gone-first: { kind: chat, routes: [{ provider: gone }, { provider: second }] }
  both: { kind: chat, routes: [{ provider: first }, { provider: second, model: other }] }
  keyed: { kind: chat, routes: [{ provider: first }] }
`,
    );
  }, 120_000);
  afterAll(async () => {
    await Promise.all([first?.close(), second?.close()]);
    await rm(folder, { recursive: true, force: true });
  });
  // Keys that were refused rest in the memory of the process: each test begins with a fresh one.
  beforeEach(async () => {
    platform = await startPlatform({
      MODELS_FILE: join(folder, 'models.yaml'),
      KEY_A: 'key-a',
      KEY_B: 'key-b',
      CHAT_FIRST_BYTE_TIMEOUT_MS: '700',
    });
    for (const upstream of [first, second]) {
      if (upstream !== undefined) [upstream.received.length, upstream.answer] = [0, GOOD];
    }
  }, 120_000);
  afterEach(() => platform.close(), 60_000);

  const ask = (model: string, fields: object = {}): Promise<Response> =>
    platform.call('/v1/chat/completions', { body: { model, messages: [{ role: 'user', content: 'hi' }], ...fields } });
  const keysAt = (upstream: ChatUpstream | undefined): unknown[] =>
    (upstream?.received ?? []).map(({ headers }) => headers.authorization);

  it('asks the next route when one cannot be reached, and the lost one last from then on', async () => {
    expect(await (await ask('gone-first')).json()).toEqual({ id: 'good', choices: [] });
    await (await ask('gone-first')).text();
    expect(second?.received).toHaveLength(2);
    const passedOver = platform.api.logs().filter((line) => line['event'] === 'chat.passed_over');
    expect(passedOver).toHaveLength(1);
  });

  it('asks the other key when one is refused, and lets the refused one rest', async () => {
    first!.answer = (response, { headers, ...rest }) =>
      headers.authorization === 'Bearer key-a'
        ? json({ error: { message: 'no' } }, 401)(response, { headers, ...rest })
        : GOOD(response, { headers, ...rest });
    for (let n = 0; n < 4; n++) expect((await ask('keyed')).status).toBe(200);
    expect(keysAt(first).filter((key) => key === 'Bearer key-a')).toHaveLength(1);
    expect(second?.received).toHaveLength(0);
  });

  it('takes turns among the keys that work', async () => {
    for (let n = 0; n < 4; n++) await (await ask('keyed')).text();
    expect(keysAt(first)).toEqual(['key-a', 'key-b', 'key-a', 'key-b'].map((key) => `Bearer ${key}`));
  });

  it.each([429, 500, 503])('asks the next route after both keys got %d', async (status) => {
    first!.answer = json({ error: { message: 'no' } }, status);
    expect((await ask('both')).status).toBe(200);
    expect(first?.received).toHaveLength(2);
    expect(JSON.parse(second?.received[0]?.body ?? '{}')).toMatchObject({ model: 'other' });
  });

  it('tells the last refusal when all refuse', async () => {
    first!.answer = json({ error: { message: 'busy', code: 'slow_down' } }, 429, { 'retry-after': '9' });
    second!.answer = json({}, 403);
    const response = await ask('both');
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '9']);
    expect(await response.json()).toMatchObject({ error: { code: 'slow_down', message: 'busy' } });
  });

  it('asks nobody else when something may have been generated, or the caller is wrong', async () => {
    first!.answer = (response) => void response.destroy();
    expect((await ask('both')).status).toBe(502);
    first!.answer = () => undefined;
    expect((await ask('both')).status).toBe(502);
    first!.answer = json({ error: { message: 'wrong' } }, 400);
    expect((await ask('both')).status).toBe(400);
    first!.answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      response.destroy();
    };
    await expect(ask('both', { stream: true }).then((response) => response.text())).rejects.toThrow();
    expect(first?.received).toHaveLength(4);
    expect(second?.received).toHaveLength(0);
  });

  it('does not ask a provider for usage that is known not to tell it', async () => {
    second!.answer = pieces(['data: [DONE]\n\n']);
    await (await ask('gone-first', { stream: true })).text();
    expect(JSON.parse(second?.received[0]?.body ?? '{}')).not.toHaveProperty('stream_options');
  });
});
