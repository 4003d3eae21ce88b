import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from '#embedded/wait-until.js';
import { ProviderSwitches } from '#routing/provider-switches.js';
import { freePort } from '../support/free-port.js';
import { json, pieces, startChatUpstream, type ChatUpstream } from '../support/chat-upstream.js';
import { databaseOf } from '../support/open-prisma.js';
import { patientSetting } from '../support/patience.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';
import { startApi, type TestProcess } from '../support/processes.js';

const GOOD = json({ id: 'good', choices: [] });
const CLIENT_SECRET = 'key-b~client-secret';
/** More than a chat may try. */
const SEVEN_KEYS = Array.from({ length: 7 }, (_, n) => `{ env: KEY_A, name: k${n} }`).join(', ');

/** Two servers, the first with two keys, and before them one that is not there. */
describe('a chat whose provider fails', () => {
  let platform: ApiPlatform;
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
  narrow: { type: openai, base_url: "${first.url}", keys: [{ env: KEY_A }], limits: { concurrency: 1 } }
  many: { type: openai, base_url: "${first.url}", keys: [${SEVEN_KEYS}] }
  full: { type: openai, base_url: "${first.url}", keys: [${SEVEN_KEYS}], limits: { concurrency: 1 } }
  entra:
    type: openai
    base_url: "${first.url}"
    keys: [{ env: KEY_B }]
    options: { auth: entra, tenant: contoso.example, client_id: app-1, login_url: "${new URL(second.url).origin}" }
  second: { type: openai, base_url: "${second.url}", options: { stream_usage: false } }
models:
  gone-first: { kind: chat, routes: [{ provider: gone }, { provider: second }] }
  both: { kind: chat, routes: [{ provider: first }, { provider: second, model: other }] }
  keyed: { kind: chat, routes: [{ provider: first }] }
  nowhere: { kind: chat, routes: [{ provider: gone }] }
  narrow: { kind: chat, routes: [{ provider: narrow }, { provider: second }] }
  alone: { kind: chat, routes: [{ provider: narrow }] }
  entra: { kind: chat, routes: [{ provider: entra }] }
  many: { kind: chat, routes: [{ provider: many }, { provider: second }] }
  full: { kind: chat, routes: [{ provider: full }, { provider: second }] }
`,
    );
  });
  afterAll(async () => {
    await Promise.all([first?.close(), second?.close()]);
    await rm(folder, { recursive: true, force: true });
  });
  // Keys that were refused rest in the memory of the process: each test begins with a fresh one.
  beforeEach(async () => {
    platform = await startApiPlatform({
      MODELS_FILE: join(folder, 'models.yaml'),
      KEY_A: 'key-a',
      KEY_B: CLIENT_SECRET,
    });
    for (const upstream of [first, second]) {
      if (upstream !== undefined) [upstream.received.length, upstream.answer] = [0, GOOD];
    }
  });
  afterEach(() => platform.close());

  const ask = (model: string, fields: object = {}, at?: TestProcess): Promise<Response> => {
    const body = { model, messages: [{ role: 'user', content: 'hi' }], ...fields };
    return platform.call('/v1/chat/completions', { body, ...(at && { at }) });
  };
  const keysAt = (upstream: ChatUpstream | undefined): unknown[] =>
    (upstream?.received ?? []).map(({ headers }) => headers.authorization);

  it('asks the next route when one cannot be reached, and the lost one last from then on', async () => {
    const passedOver = async (response: Response): Promise<boolean> => {
      expect(await response.json()).toEqual({ id: 'good', choices: [] });
      const ofChat = () =>
        platform.api.logs().filter(({ requestId }) => requestId === response.headers.get('x-request-id'));
      // Lines of one process keep their order, and a call's own comes last.
      const ended = () => ofChat().some(({ event }) => event === 'request');
      expect(await waitUntil(ended, { timeoutMs: 30_000 })).toBe(true);
      return ofChat().some(({ event }) => event === 'chat.passed_over');
    };
    expect(await passedOver(await ask('gone-first'))).toBe(true);
    // It is the last for five seconds, which a busy machine may take from one chat to the next.
    const isLast = async (): Promise<boolean> => !(await passedOver(await ask('gone-first')));
    expect(await waitUntil(isLast, { timeoutMs: 30_000 })).toBe(true);
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
    expect(keysAt(first)).toEqual(['key-a', CLIENT_SECRET, 'key-a', CLIENT_SECRET].map((key) => `Bearer ${key}`));
  });

  it.each([402, 429, 500, 502, 503])('asks the next route after both keys got %d', async (status) => {
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
    // A process of its own: within this limit, no other chat could count on its answer.
    const hasty = await startApi({ ...platform.settings, CHAT_FIRST_BYTE_TIMEOUT_MS: patientSetting(2_000) });
    expect((await ask('both', {}, hasty)).status).toBe(502);
    await hasty.stop();
    first!.answer = json({ error: { message: 'wrong' } }, 400);
    expect((await ask('both')).status).toBe(400);
    first!.answer = json({ error: { message: 'the gateway stopped waiting' } }, 504);
    expect((await ask('both')).status).toBe(504);
    first!.answer = (response) => void response.writeHead(502, { 'content-type': 'text/html' }).end('<html>');
    expect((await ask('both')).status).toBe(502);
    first!.answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      response.destroy();
    };
    await expect(ask('both', { stream: true }).then((response) => response.text())).rejects.toThrow();
    expect(first?.received).toHaveLength(6);
    expect(second?.received).toHaveLength(0);
  });

  it('gives a drained provider nothing, and says so when there is no other', async () => {
    const switches = new ProviderSwitches(databaseOf(platform));
    await switches.drain('first', 'bill not paid');
    const moved = async (): Promise<boolean> => {
      const before = first?.received.length;
      expect((await ask('both')).status).toBe(200);
      return first?.received.length === before;
    };
    expect(await waitUntil(moved, { timeoutMs: 30_000 })).toBe(true);
    const response = await ask('keyed');
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5']);
    expect(await response.json()).toMatchObject({ error: { code: 'server_is_overloaded' } });
    const failed = () =>
      platform.api.logs().find(({ requestId }) => requestId === response.headers.get('x-request-id')) ?? {};
    expect(await waitUntil(() => failed()['event'] === 'request.failed', { timeoutMs: 30_000 })).toBe(true);
    expect(failed()).toMatchObject({ level: 'warn', code: 'server_is_overloaded', reason: expect.any(String) });
    expect(failed()).not.toHaveProperty('error');
    await switches.resume('first');
    expect(await waitUntil(async () => (await ask('keyed')).status === 200, { timeoutMs: 30_000 })).toBe(true);
  });

  it('hides a token of Microsoft Entra that the provider quotes, and the secret behind it', async () => {
    const token = 'eyJ0eXAi.eyJhdWQi.c2lnbmF0dXJl';
    second!.answer = json({ token_type: 'Bearer', expires_in: 3_599, access_token: token });
    first!.answer = json({ error: { message: `${token} of ${CLIENT_SECRET} is for another resource` } }, 400);
    const response = await ask('entra');
    expect(keysAt(first)).toEqual([`Bearer ${token}`]);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: { message: '[redacted] of [redacted] is for another resource' },
    });
  });

  it('stops after six calls', async () => {
    first!.answer = json({ error: { message: 'no' } }, 500);
    expect((await ask('many')).status).toBe(500);
    expect([first?.received.length, second?.received.length]).toEqual([6, 0]);
  });

  it('asks the next route when a provider has no capacity left, however many keys it has', async () => {
    let finish: () => void = () => undefined;
    first!.answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {}\n\n');
      finish = () => void response.end('data: [DONE]\n\n');
    };
    const held = await ask('full', { stream: true });
    expect((await ask('full')).status).toBe(200);
    expect([first?.received.length, second?.received.length]).toEqual([1, 1]);
    finish();
    await held.text();
  });

  it('keeps to the limits of a provider until an answer has ended', async () => {
    let finish: () => void = () => undefined;
    first!.answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {}\n\n');
      finish = () => void response.end('data: [DONE]\n\n');
    };
    const held = await ask('narrow', { stream: true });
    expect((await ask('narrow')).status).toBe(200);
    expect((await ask('alone')).status).toBe(503);
    expect([first?.received.length, second?.received.length]).toEqual([1, 1]);
    finish();
    await held.text();
    first!.answer = GOOD;
    expect(await waitUntil(async () => (await ask('alone')).status === 200, { timeoutMs: 30_000 })).toBe(true);
  });

  it('writes down a chat that nobody answered, and that it cost nothing if it never went out', async () => {
    const usageOf = async (response: Response): Promise<unknown> => {
      const text = 'SELECT provider, status, outcome, cost_micros FROM chat_usage WHERE request_id = $1';
      let row: unknown;
      const written = async (): Promise<boolean> => {
        [row] = (await platform.pool.query(text, [response.headers.get('x-request-id')])).rows as unknown[];
        return row !== undefined;
      };
      await waitUntil(written, { timeoutMs: 30_000 });
      return row;
    };
    const unanswered = { status: 0, outcome: 'unanswered' };
    expect(await usageOf(await ask('nowhere'))).toEqual({ ...unanswered, provider: 'gone', cost_micros: '0' });
    first!.answer = (response) => void response.destroy();
    expect(await usageOf(await ask('both'))).toEqual({ ...unanswered, provider: 'first', cost_micros: null });
  });

  it('does not ask a provider for usage that is known not to tell it', async () => {
    second!.answer = pieces(['data: [DONE]\n\n']);
    await (await ask('gone-first', { stream: true })).text();
    expect(JSON.parse(second?.received[0]?.body ?? '{}')).not.toHaveProperty('stream_options');
  });
});
