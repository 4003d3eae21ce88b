import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from '#embedded/wait-until.js';
import { Browser, signInFirstAdmin, signInInvited } from '../support/console.js';
import { plainImage } from '../support/image-provider-suite.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { startApi, type TestProcess } from '../support/processes.js';
import { apiError, image, json, startUpstream, text, type ScriptedUpstream } from '../support/scripted-upstream.js';

const CANARY = 'sk-canary-9e27d1';
const NEXT = 'the next one 5c8d1f'.padEnd(40, 'y');
const FILE = `
currency: USD
providers:
  house: { type: sandbox }
models:
  drawn: { kind: image, aliases: [sketch], routes: [{ provider: house }] }
`;

type Json = Record<string, unknown>;
interface Entry {
  readonly name: string;
  readonly owner: string;
  readonly entry: Json;
  readonly keys?: string[];
  readonly problems: string[];
}
interface Catalog {
  readonly revision: number;
  readonly types: { type: string; needs: string[]; options: Json }[];
  readonly providers: Entry[];
  readonly models: Entry[];
}

describe('providers and models that are edited in the console', () => {
  let folder: string;
  let upstream: ScriptedUpstream;
  let platform: Platform;
  let second: TestProcess;
  let ada: Browser;
  let png: Buffer;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-catalog-'));
    await writeFile(join(folder, 'models.yaml'), FILE);
    png = await plainImage(1024, 1024);
    upstream = await startUpstream();
    upstream.script(image(png));
    platform = await startPlatform({ MODELS_FILE: join(folder, 'models.yaml'), LOG_LEVEL: 'debug' });
    second = await startApi(platform.settings);
    ada = await signInFirstAdmin(platform);
  });
  afterAll(async () => {
    await second.stop();
    await platform.close();
    await upstream.close();
    await rm(folder, { recursive: true, force: true });
  });

  const catalog = (who = ada): Promise<Catalog> => who.ask<Catalog>('/catalog');
  const put = async (path: string, body: object): Promise<Response> =>
    await ada.call(`/catalog/${path}`, { method: 'PUT', body: { revision: (await catalog()).revision, ...body } });
  const done = async (response: Response): Promise<number> => {
    const body = (await response.json()) as { revision: number };
    expect([response.status, body]).toEqual([200, { revision: expect.any(Number) }]);
    return body.revision;
  };
  const refused = async (response: Response): Promise<[number, string, string | null]> => {
    const { error } = (await response.json()) as { error: { message: string; param: string | null } };
    return [response.status, error.message, error.param];
  };
  const restore = async (revision: number): Promise<Response> =>
    await ada.call(`/catalog/revisions/${revision}/restore`, { body: { revision: (await catalog()).revision } });
  let count = 0;
  /** The status of an image; each is one of its own, so that none is answered with that of an equal request. */
  const generate = async (url: string, model: string): Promise<number> => {
    const response = await fetch(`${url}/v1/images/generations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${platform.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, prompt: `pear ${++count}`, resolution: '1k', size: '1:1' }),
    });
    await response.arrayBuffer();
    return response.status;
  };
  const models = async (url: string): Promise<string[]> => {
    const answer = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${platform.key}` } });
    return ((await answer.json()) as { data: { id: string }[] }).data.map(({ id }) => id);
  };
  const main = () => ({ entry: { type: 'openai', base_url: upstream.url }, keys: [{ name: 'team', key: CANARY }] });
  const vivid = { entry: { kind: 'image', routes: [{ provider: 'main', model: 'their-model' }] } };

  it('are for operators', async () => {
    const accountId = await platform.newAccount();
    for (const who of [
      await signInInvited(platform, { email: 'mo@example.org', role: 'member' }),
      await signInInvited(platform, { email: 'eve@example.org', role: 'admin', accountId }),
    ]) {
      const calls = [
        who.call('/catalog'),
        who.call('/catalog/revisions'),
        who.call('/catalog/providers/main', { method: 'PUT', body: { revision: 0, ...main() } }),
        who.call('/catalog/models/vivid', { method: 'PUT', body: { revision: 0, ...vivid } }),
        who.call('/catalog/providers/main?revision=0', { method: 'DELETE' }),
        who.call('/catalog/models/vivid?revision=0', { method: 'DELETE' }),
        who.call('/catalog/revisions/0/restore', { body: { revision: 0 } }),
      ];
      expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(calls.map(() => 403));
    }
  });

  it('stand beside what models.yaml says, which is read-only', async () => {
    const { revision, types, providers, models: listed } = await catalog();
    expect([revision, types.map(({ type }) => type)]).toEqual([
      0,
      ['sandbox', 'openai', 'apimart', 'evolink', 'toapis', 'comfyui', 'comfyui-v2', 'fal', 'google'],
    ]);
    expect(providers).toEqual([
      {
        name: 'house',
        owner: 'file',
        entry: { type: 'sandbox' },
        keys: [],
        has_webhook_secret: false,
        server_keys: [],
        problems: [],
        replaces_built_in: false,
      },
    ]);
    expect(listed.map(({ name, owner }) => [name, owner])).toEqual([['drawn', 'file']]);
    for (const path of ['providers/house', 'models/drawn', 'models/sketch']) {
      const body = path.startsWith('providers') ? main() : vivid;
      expect(await refused(await put(path, body))).toEqual([403, expect.stringContaining('models.yaml'), 'name']);
    }
    const aliased = { entry: { kind: 'image', aliases: ['sketch'], routes: [{ provider: 'house' }] } };
    expect(await refused(await put('models/vivid', aliased))).toEqual([
      400,
      'The name sketch is already in models.yaml.',
      'aliases',
    ]);
  });

  it('are tried before they are saved or have a model, with each of their keys', async () => {
    const models = { object: 'list', data: [{ id: 'their-model' }, { id: 'another' }] };
    const tried = (change: object) =>
      ada.ask<{ models: string[]; problem: string | null }>('/catalog/connection', { body: change });
    upstream.script(json(models));
    expect(await tried(main())).toEqual({ models: ['another', 'their-model'], problem: null });
    const [call] = upstream.calls;
    expect([call?.method, call?.path, call?.headers.authorization]).toEqual([
      ...['GET', '/v1/models', `Bearer ${CANARY}`],
    ]);
    // The second key is refused; what the server says of it is shown without the key.
    upstream.script(json(models), apiError(401, { message: `Incorrect API key provided: ${CANARY}.` }));
    const two = { ...main(), keys: [...main().keys, { name: 'spare', key: CANARY }] };
    const { problem } = await tried(two);
    expect(problem).toMatch(
      /^spare: The server is reachable, but rejected the key \(401\)\. The server said: Incorrect/,
    );
    expect(problem).not.toContain(CANARY);
    upstream.script(text('<html>', 'text/html'), json({}, 404), json({ data: 'no' }));
    expect((await tried(main())).problem).toContain('not with a list of models');
    expect((await tried(main())).problem).toContain('has no list of models at this URL (404)');
    expect((await tried(main())).problem).toContain('not with a list of models');
    const nowhere = { entry: { type: 'openai', base_url: 'http://127.0.0.1:9/v1' } };
    expect((await tried(nowhere)).problem).toContain('connection refused (ECONNREFUSED)');
    const of = (body: object) => ada.call('/catalog/connection', { body });
    const wrong = await refused(await of({ entry: { type: 'openai', base_url: 'http://a:b@c' } }));
    expect([wrong[0], wrong[2]]).toEqual([400, 'base_url']);
    expect(await refused(await of({ entry: { type: 'google' }, keys: [] }))).toEqual([
      ...[400, 'Providers of this type are tested with a model.', 'entry.type'],
    ]);
    expect((await catalog()).revision).toBe(0);
    const { rows } = await platform.pool.query('SELECT id FROM provider_keys');
    expect(rows).toEqual([]);
  });

  it('serve every instance, with the sealed key', async () => {
    const before = upstream.calls.length;
    upstream.script(image(png));
    expect(await done(await put('providers/main', main()))).toBe(1);
    expect(await done(await put('models/vivid', vivid))).toBe(2);
    // The worker may not have looked yet; it looks before it says that there is no such model.
    expect([await generate(platform.url, 'vivid'), upstream.calls.length - before]).toEqual([200, 1]);
    const call = upstream.calls.at(-1);
    expect(call?.headers.authorization).toBe(`Bearer ${CANARY}`);
    expect(JSON.parse(String(call?.body))).toMatchObject({ model: 'their-model' });
    expect(await waitUntil(async () => (await models(second.url)).includes('vivid'), { timeoutMs: 20_000 })).toBe(true);
    expect(await generate(second.url, 'vivid')).toBe(200);
    const { providers, revision } = await catalog();
    expect(revision).toBe(2);
    expect(providers.at(-1)).toEqual({
      name: 'main',
      owner: 'console',
      problems: [],
      keys: ['team'],
      replaces_built_in: false,
      has_webhook_secret: false,
      server_keys: [],
      entry: { type: 'openai', base_url: upstream.url },
    });
    const state = (await ada.ask<{ data: Json[] }>('/providers')).data.find(({ name }) => name === 'main');
    expect(state).toMatchObject({ type: 'openai', models: ['vivid'], has_key: true, unset_keys: [] });
    // Its stored key is tried where it is known to belong, and nowhere else.
    upstream.script(json({ data: [] }));
    const stored = (entry: object) => ({ body: { name: 'main', entry, keys: [{ name: 'team' }] } });
    expect(await ada.ask('/catalog/connection', stored(main().entry))).toEqual({ models: [], problem: null });
    expect(upstream.calls.at(-1)?.headers.authorization).toBe(`Bearer ${CANARY}`);
    const elsewhere = stored({ ...main().entry, base_url: `${upstream.url}/elsewhere` });
    expect((await refused(await ada.call('/catalog/connection', elsewhere)))[2]).toBe('keys');
    upstream.script(image(png));
  });

  it.each<[string, string, () => object, string, string]>([
    ['an unknown type', 'providers/x', () => ({ entry: { type: 'openia' } }), 'must be equal to one of', 'type'],
    [
      'an address with a password',
      'providers/x',
      () => ({ entry: { type: 'openai', base_url: 'http://a:b@c' } }),
      'must be a URL that begins with http:// or https://',
      'base_url',
    ],
    ['a missing key', 'providers/x', () => ({ entry: { type: 'fal' } }), 'needs keys', ''],
    [
      'keys in the entry',
      'providers/x',
      () => ({ entry: { type: 'fal', keys: [{ env: 'SECRET_KEY' }] } }),
      'next to the entry',
      'keys',
    ],
    [
      'the variable of a process',
      'providers/x',
      () => ({ ...main(), keys: [{ name: 'a', env: 'SECRET_KEY' }] }),
      'must each have a name',
      'keys[0]',
    ],
    [
      'a key that is not stored',
      'providers/main',
      () => ({ ...main(), keys: [{ name: 'other' }] }),
      'The key other is missing',
      'keys',
    ],
    [
      'an option of another type',
      'providers/x',
      () => ({ entry: { type: 'openai', options: { workflow: {} } } }),
      'is not known',
      'options.workflow',
    ],
    [
      'a file of the workers',
      'providers/x',
      () => ({
        entry: {
          type: 'comfyui',
          base_url: 'http://c:1',
          options: { workflow: '/etc/passwd', slots: { prompt: '6.text' } },
        },
      }),
      'not its path',
      'options.workflow',
    ],
    ['a name with a slash', 'providers/a%2Fb', main, 'up to 100 letters', 'name'],
    [
      'an unknown provider',
      'models/x',
      () => ({ entry: { kind: 'image', routes: [{ provider: 'none' }] } }),
      'names the provider none',
      'routes.0',
    ],
    ['an unknown field', 'models/x', () => ({ entry: { ...vivid.entry, color: 1 } }), 'is unknown', 'color'],
    [
      'a day that is none',
      'models/x',
      () => ({ entry: { ...vivid.entry, prices: [{ from: '2026-13-01', per_image: { '1k': 1, '2k': 1, '4k': 1 } }] } }),
      'is not a valid date',
      'prices.0.from',
    ],
    [
      'a name that is taken',
      'models/x',
      () => ({ entry: { ...vivid.entry, aliases: ['vivid'] } }),
      'already means vivid',
      'aliases.0',
    ],
  ])('are refused with %s', async (_what, path, body, message, param) => {
    const before = await catalog();
    const [status, text, field] = await refused(await put(path, body()));
    expect([status, text, field ?? '']).toEqual([400, expect.stringContaining(message), param]);
    expect(await catalog()).toEqual(before);
  });

  it('keep their keys from another address, however it is given', async () => {
    const moved = { entry: { type: 'openai', base_url: 'http://127.0.0.1:9/v1' } };
    for (const body of [moved, { ...moved, keys: [{ name: 'team' }] }]) {
      expect(await refused(await put('providers/main', body))).toEqual([
        400,
        expect.stringMatching(/^Enter the keys again/),
        'keys',
      ]);
    }
    const limited = { entry: { ...main().entry, limits: { concurrency: 3 } }, keys: [{ name: 'team' }] };
    await done(await put('providers/main', limited));
    expect(await generate(platform.url, 'vivid')).toBe(200);
    expect(upstream.calls.at(-1)?.headers.authorization).toBe(`Bearer ${CANARY}`);
  });

  it('are changed by one at a time, and undone', async () => {
    const { revision } = await catalog();
    const late = { revision: revision - 1, ...main() };
    const answer = await ada.call('/catalog/providers/late', { method: 'PUT', body: late });
    expect((await refused(answer))[0]).toBe(409);
    expect(await refused(await ada.call(`/catalog/providers/main?revision=${revision}`, { method: 'DELETE' }))).toEqual(
      [...[400, 'Some models have routes to it: vivid. Change those first.', null]],
    );
    for (const path of ['models/vivid', 'providers/main']) {
      const now = (await catalog()).revision;
      await done(await ada.call(`/catalog/${path}?revision=${now}`, { method: 'DELETE' }));
    }
    expect((await catalog()).providers.map(({ name }) => name)).toEqual(['house']);
    expect(await waitUntil(async () => !(await models(second.url)).includes('vivid'), { timeoutMs: 20_000 })).toBe(
      true,
    );
    expect(await done(await restore(revision))).toBe(revision + 3);
    expect([await generate(platform.url, 'vivid'), upstream.calls.at(-1)?.headers.authorization]).toEqual([
      200,
      `Bearer ${CANARY}`,
    ]);
    expect((await restore(999)).status).toBe(404);
    const { data } = await ada.ask<{ data: { sentence: string; author: string }[] }>('/catalog/revisions');
    expect(data.slice(0, 3)).toMatchObject([
      { sentence: `restored version ${revision} of providers and models`, author: 'ada@example.org' },
      { sentence: 'removed the provider “main”' },
      { sentence: 'removed the model “vivid”' },
    ]);
    const audit = await ada.ask<{ data: Json[] }>('/audit?kind=providers');
    expect(audit.data.slice(0, 4).map(({ action, target }) => [action, target])).toEqual([
      ...[
        ['catalog.restored', String(revision)],
        ['provider.removed', 'main'],
        ['model.removed', 'vivid'],
        ['provider.changed', 'main'],
      ],
    ]);
    expect(audit.data[3]?.['details']).toEqual({ revision, fields: ['limits'] });
  });

  it('may go while a task is with their provider, which ends as it would', async () => {
    const { revision } = await catalog();
    let finish = (): void => undefined;
    const finished = new Promise<void>((resolve) => (finish = resolve));
    let arrived = (): void => undefined;
    const arrival = new Promise<void>((resolve) => (arrived = resolve));
    upstream.script(async (call, response) => {
      arrived();
      await finished;
      await image(png)(call, response);
    });
    const answer = generate(platform.url, 'vivid');
    await arrival;
    expect(await done(await restore(0))).toBe(revision + 1);
    expect(await models(platform.url)).toEqual(['drawn']);
    const active = (): unknown =>
      platform.worker
        .logs()
        .filter(({ event }) => event === 'catalog.loaded')
        .at(-1)?.['count'];
    expect(await waitUntil(() => active() === 1, { timeoutMs: 20_000 })).toBe(true);
    finish();
    expect(await answer).toBe(200);
    await done(await restore(revision));
    upstream.script(image(png));
  });

  it('give way to a file that gains their name, and come back when it loses it', async () => {
    const shadow = FILE.replace('models:', 'models:\n  vivid: { kind: image, routes: [{ provider: house }] }');
    const owners = async (): Promise<string[]> =>
      (await catalog()).models
        .filter(({ name }) => name === 'vivid')
        .map(({ owner, problems }) => [owner, ...problems].join(': '));
    await writeFile(join(folder, 'models.yaml'), shadow);
    const isShadowed = async (): Promise<boolean> => (await owners()).length === 2;
    expect(await waitUntil(isShadowed, { timeoutMs: 20_000 })).toBe(true);
    expect(await owners()).toEqual(['file', 'console: is not used, because models.yaml defines this name']);
    await writeFile(join(folder, 'models.yaml'), FILE);
    expect(await waitUntil(async () => !(await isShadowed()), { timeoutMs: 20_000 })).toBe(true);
    expect(await owners()).toEqual(['console']);
  });

  it('can have several servers, whose keys stay with them and are never shown', async () => {
    const servers = ['one', 'two'].map((name) => ({ name, base_url: upstream.url, region: 'eu' }));
    const keys = [
      { server: 'one', name: 'k', key: CANARY },
      { server: 'two', name: 'k', key: `${CANARY}-2` },
    ];
    await done(await put('providers/pool', { entry: { type: 'openai', servers }, keys }));
    const listed = (await catalog()).providers.find(({ name }) => name === 'pool');
    expect(listed).toMatchObject({
      entry: { type: 'openai', servers },
      keys: [],
      server_keys: [
        { server: 'one', name: 'k' },
        { server: 'two', name: 'k' },
      ],
      problems: [],
    });
    expect(JSON.stringify(await catalog())).not.toMatch(/canary|pkey_/);
    const kept = [
      { server: 'one', name: 'k' },
      { server: 'two', name: 'k' },
    ];
    const limited = servers.map((server) => ({ ...server, limits: { starts_per_minute: 12 } }));
    await done(await put('providers/pool', { entry: { type: 'openai', servers: limited }, keys: kept }));
    const [first, ...others] = limited;
    const moved = [{ ...first, base_url: 'http://127.0.0.1:9/v1' }, ...others];
    expect(
      await refused(await put('providers/pool', { entry: { type: 'openai', servers: moved }, keys: kept })),
    ).toEqual([400, 'Enter the keys again: the address they are sent to has changed.', 'keys']);
    const stolen = [{ ...first, keys: [{ name: 'k', sealed: 'pkey_1' }] }];
    expect(
      await refused(await put('providers/pool', { entry: { type: 'openai', servers: stolen }, keys: [] })),
    ).toEqual([400, 'keys belong next to the entry, not in it.', 'keys']);
    const lost = [...kept, { server: 'three', name: 'k', key: CANARY }];
    expect(await refused(await put('providers/pool', { entry: { type: 'openai', servers }, keys: lost }))).toEqual([
      400,
      'The key k is for three, which is no server.',
      'keys',
    ]);
    const wrong = { type: 'openai', base_url: upstream.url, servers };
    expect(await refused(await put('providers/pool', { entry: wrong, keys: kept }))).toEqual([
      400,
      'base_url belongs to each of the servers.',
      'base_url',
    ]);
    expect((await ada.call('/providers/pool%2Ftwo/drain', { body: { reason: 'broken fan' } })).status).toBe(204);
    const pool = (await ada.ask<{ data: Json[] }>('/providers')).data.find(({ name }) => name === 'pool');
    expect(pool).toMatchObject({
      drained: null,
      starts_per_minute: 24,
      servers: [
        { name: 'one', region: 'eu', breaker: 'closed', starts_per_minute: 12, drained: null },
        { name: 'two', drained: { reason: expect.stringContaining('broken fan') } },
      ],
    });
    const log = await ada.ask<{ data: { action: string; target: string }[] }>('/audit');
    expect(log.data[0]).toMatchObject({ action: 'provider.drained', target: 'pool/two' });
    expect((await ada.call('/providers/pool%2Ftwo/resume', { method: 'POST' })).status).toBe(204);
    expect((await ada.call('/providers/pool%2Fthree/drain', { body: {} })).status).toBe(404);
    const { revision } = await catalog();
    await done(await ada.call(`/catalog/providers/pool?revision=${revision}`, { method: 'DELETE' }));
  });

  it('open their keys after a rotation of SECRET_KEY, and say so where they can not', async () => {
    const seen = async (secrets: Readonly<Record<string, string>>): Promise<string[]> => {
      const api = await startApi({ ...platform.settings, ...secrets });
      try {
        const browser = new Browser(api.url);
        browser.cookie = ada.cookie;
        const { providers } = await catalog(browser);
        return providers.find(({ name }) => name === 'main')?.problems ?? ['gone'];
      } finally {
        await api.stop();
      }
    };
    const keyIds = async (): Promise<number> =>
      (await platform.pool.query('SELECT DISTINCT key_id FROM provider_keys')).rows.length;
    const { rows } = await platform.pool.query<Json>('SELECT id, key_id, sealed FROM provider_keys');
    expect(rows.length).toBeGreaterThan(0);
    await platform.pool.query(`UPDATE provider_keys SET key_id = 'lost'`);
    expect(await seen({})).toEqual(['keys.0 was encrypted with a SECRET_KEY that is no longer set; enter it again']);
    for (const { id, key_id: keyId } of rows) {
      await platform.pool.query('UPDATE provider_keys SET key_id = $2 WHERE id = $1', [id, keyId]);
    }
    expect(await seen({ SECRET_KEY: NEXT, SECRET_KEY_PREVIOUS: platform.secretKey })).toEqual([]);
    expect(await keyIds()).toBe(1);
    const after = await platform.pool.query<Json>('SELECT key_id FROM provider_keys');
    expect(after.rows[0]?.['key_id']).not.toBe(rows[0]?.['key_id']);
  });

  it('show the key nowhere: not in the database, a log, the audit log, or an answer', async () => {
    const { rows: tables } = await platform.pool.query<{ name: string }>(
      `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`,
    );
    let dump = '';
    for (const { name } of tables) {
      const { rows } = await platform.pool.query<{ row: string }>(
        `SELECT row_to_json(t)::text || t::text AS row FROM "${name}" t`,
      );
      dump += rows.map(({ row }) => row).join('\n');
    }
    expect(dump).toContain('their-model');
    const answers = await Promise.all(
      ['/catalog', '/catalog/revisions', '/providers', '/audit'].map(
        async (path) => await (await ada.call(path)).text(),
      ),
    );
    const logs = [platform.api, platform.worker, second].map((process) => process.output());
    expect(logs.join('')).toContain('catalog.loaded');
    const hex = Buffer.from(CANARY).toString('hex');
    for (const text of [dump, ...answers, ...logs]) {
      expect(text.includes(CANARY) || text.includes(hex)).toBe(false);
    }
  });
});
