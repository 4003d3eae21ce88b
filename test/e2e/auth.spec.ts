import { readFileSync } from 'node:fs';
import { hashApiKey } from '#accounts/key-hashes.js';
import { waitUntil } from '#embedded/wait-until.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { rawCall } from '../support/raw-call.js';

const BODY = { model: 'gpt-image-2', prompt: 'a fox', resolution: '1k' };

describe('API keys', () => {
  let platform: Platform;

  beforeAll(async () => {
    platform = await startPlatform();
  });
  afterAll(() => platform.close());

  const bodyOf = async (response: Response): Promise<unknown> => {
    const { request_id: _requestId, ...body } = (await response.json()) as Record<string, unknown>;
    return { status: response.status, authenticate: response.headers.get('www-authenticate'), ...body };
  };
  const header = (authorization: string) => platform.call('/v1/models', { key: null, headers: { authorization } });

  const azure = (key: string) => platform.call('/v1/models', { key: null, headers: { 'api-key': key } });

  it('are refused in one and the same way whatever is wrong with them', async () => {
    const past = new Date(Date.now() - 1_000);
    const expired = await platform.newKey({ expires_at: past });
    const revoked = await platform.newKey({ revoked_at: past });
    const answers = await Promise.all([
      platform.call('/v1/models', { key: null }),
      platform.call('/v1/models', { key: 'sk-dr-unknown' }),
      platform.call('/v1/models', { key: expired }),
      platform.call('/v1/models', { key: revoked }),
      platform.call('/v1/models', { key: 'x'.repeat(5_000) }),
      platform.call(`/v1/models?api_key=${platform.key}&key=${platform.key}`, { key: null }),
      header(platform.key),
      header(`Basic ${platform.key}`),
      header('Bearer'),
      header(`Bearer ${platform.key} ${platform.key}`),
      header(`Bearer ${platform.key.slice(0, -1)}`),
      azure(''),
      azure('sk-dr-unknown'),
      azure(`Bearer ${platform.key}`),
      platform.call('/v1/models', { key: 'sk-dr-unknown', headers: { 'api-key': platform.key } }),
    ]);
    const [first, ...others] = await Promise.all(answers.map(bodyOf));
    expect(first).toMatchObject({
      status: 401,
      authenticate: 'Bearer',
      error: { type: 'authentication_error', code: 'invalid_api_key', param: null },
    });
    for (const other of others) expect(other).toEqual(first);
  });

  it('are taken in the header of Azure’s clients', async () => {
    expect((await azure(platform.key)).status).toBe(200);
  });

  it('are taken with any case of the scheme', async () => {
    for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
      expect((await header(`${scheme} ${platform.key}`)).status).toBe(200);
    }
  });

  it('are checked before the body is looked at', async () => {
    const response = await platform.call('/v1/images/generations', {
      key: null,
      body: '{"broken',
      headers: { 'content-type': 'application/json' },
    });
    expect(response.status).toBe(401);
    const form = await platform.call('/v1/images/edits', { key: 'sk-no', body: new FormData() });
    expect(form.status).toBe(401);
  });

  it.each([
    '/v1/images/generations',
    '/images/generations',
    '/v1/images/generations/async',
    '/v1/images/edits',
    '/v1/images/edits/async',
  ])('are needed for POST %s', async (path) => {
    expect((await platform.call(path, { key: null, body: BODY })).status).toBe(401);
  });

  it('cannot be avoided by another spelling of the path', async () => {
    for (const path of [
      '/V1/tasks',
      '//v1/tasks',
      '/v1//tasks',
      '/v1/tasks/',
      '/v1/./tasks',
      '/v1/%74asks',
      '/v1/tasks;x',
      '/v1/tasks?x',
      '/docs/../v1/tasks',
      '/healthz/../v1/tasks',
      '/i/..%2fv1%2ftasks',
    ]) {
      // As it is: an HTTP client would resolve the dots.
      const answer = await rawCall(platform.url, `GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
      // The folder of the reference's files refuses what leads out of it.
      const expected = path.startsWith('/docs/') ? [400] : [401, 403, 404];
      expect([path, expected.includes(answer?.status ?? 0)]).toEqual([path, true]);
    }
  });

  it('of a disabled account are refused as forbidden', async () => {
    const account = await platform.newAccount();
    const key = await platform.newKey({}, account);
    await platform.pool.query('UPDATE accounts SET disabled_at = now() WHERE id = $1', [account]);
    expect(await bodyOf(await platform.call('/v1/models', { key }))).toMatchObject({
      status: 403,
      error: { type: 'permission_error', code: 'account_disabled' },
    });
  });

  it('use and see the models they are allowed only', async () => {
    const key = await platform.newKey({ models: ['another-model'] });
    expect(await bodyOf(await platform.call('/v1/images/generations', { key, body: BODY }))).toMatchObject({
      status: 403,
      error: { type: 'permission_error', code: 'model_not_allowed', param: 'model' },
    });
    expect(await (await platform.call('/v1/models', { key })).json()).toEqual({ object: 'list', data: [] });
    expect((await platform.call('/v1/models/gpt-image-2', { key })).status).toBe(404);
  });

  it('stop working within 10 s of being revoked, though they were in use all the time', async () => {
    const key = await platform.newKey();
    expect((await platform.call('/v1/models', { key })).status).toBe(200);
    const hash = hashApiKey(platform.secretKey, key);
    await platform.pool.query('UPDATE api_keys SET revoked_at = now() WHERE hash = $1', [hash]);
    const isRefused = async (): Promise<boolean> => (await platform.call('/v1/models', { key })).status === 401;
    expect(await waitUntil(isRefused, { timeoutMs: 30_000, everyMs: 10 })).toBe(true);
  });

  it.each([
    [['images'], ['images', 'tasks']],
    [['tasks'], ['tasks']],
    [['chat'], ['chat']],
    [['approve'], ['approve']],
    [
      ['tasks', 'chat'],
      ['tasks', 'chat'],
    ],
  ])('for %j alone reach the operations of %j, before the body is looked at', async (scopes, reached) => {
    const key = await platform.newKey({ scopes });
    for (const { method, path, group } of OPERATIONS) {
      const response = await platform.call(path.replaceAll(/\{\w+\}/g, 'task_0'), {
        key,
        method,
        ...(method === 'GET' ? {} : { body: '{"broken', headers: { 'content-type': 'application/json' } }),
      });
      const { error } = (await response.json()) as { error?: { code: string } };
      const isRefused = response.status === 403 && error?.code === 'endpoint_not_allowed';
      expect([method, path, isRefused]).toEqual([method, path, group !== 'any' && !reached.includes(group)]);
    }
  });

  it('for chats alone draw nothing in them', async () => {
    const draw = async (scopes: string[]) => {
      const body = { model: 'gpt-image-2', messages: [{ role: 'user', content: 'a fox' }] };
      const answer = await platform.call('/v1/chat/completions', { key: await platform.newKey({ scopes }), body });
      return [answer.status, ((await answer.json()) as { error?: { code: string } }).error?.code];
    };
    expect(await draw(['chat'])).toEqual([403, 'endpoint_not_allowed']);
    expect(await draw(['chat', 'images'])).toEqual([200, undefined]);
  });
});

/** Every operation of the API that needs a key, and what a key must be for to reach it. */
const GROUPS: Readonly<Record<string, string>> = {
  Images: 'images',
  Uploads: 'images',
  Tasks: 'tasks',
  Batches: 'tasks',
  Usage: 'tasks',
  Chat: 'chat',
  Models: 'any',
};
const OPERATIONS = Object.entries(
  (
    JSON.parse(readFileSync('openapi.json', 'utf8')) as {
      paths: Record<string, Record<string, { tags: string[]; security?: object[] }>>;
    }
  ).paths,
).flatMap(([path, methods]) =>
  Object.entries(methods).flatMap(([method, { tags, security }]) => {
    if ((security ?? []).length === 0) return [];
    const [tag = ''] = tags;
    const decides = /^\/v1\/tasks\/.*\/(?:approve|reject)$/.test(path) ? 'approve' : undefined;
    const endsTasks = path.startsWith('/v1/tasks') && (method === 'delete' || path.endsWith('/cancel'));
    const isOrder = endsTasks || (tag === 'Batches' && method !== 'get');
    const group = decides ?? (isOrder ? 'images' : GROUPS[tag]);
    if (group === undefined) throw new Error(`Nobody said what ${path} is for`);
    return [{ method: method.toUpperCase(), path, group }];
  }),
);
