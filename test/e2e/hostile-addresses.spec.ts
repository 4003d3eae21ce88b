import { readFileSync } from 'node:fs';
import { waitUntil } from '#embedded/wait-until.js';
import { signInFirstAdmin, type Browser } from '../support/console.js';
import { FaultProxy } from '../support/fault-proxy.js';
import { FREQUENT_CHECKS, startApiPlatform, type ApiPlatform } from '../support/platform.js';
import { startApi } from '../support/processes.js';

const TIME: unknown = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);
const OK = { state: 'ok', since: TIME, checked_at: TIME };

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: unknown[];
  readonly example?: unknown;
  readonly items?: Schema;
  readonly required?: string[];
  readonly properties?: Record<string, Schema>;
}
interface Operation {
  readonly parameters?: { readonly name: string; readonly in: string; readonly required?: boolean }[];
  readonly requestBody?: { readonly content?: Record<string, { readonly schema: Schema }> };
}
interface OpenApi {
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Record<string, Schema> };
}

const read = (file: string): OpenApi => JSON.parse(readFileSync(file, 'utf8')) as OpenApi;

/** A body that the route reads: what it must have, or the first thing that it may. */
function sampleOf(document: OpenApi, schema: Schema, name = ''): unknown {
  if (schema.$ref !== undefined) {
    return sampleOf(document, document.components.schemas[schema.$ref.split('/').at(-1) ?? '']!, name);
  }
  if (schema.example !== undefined) return schema.example;
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.properties !== undefined) {
    const names = schema.required ?? Object.keys(schema.properties).slice(0, 1);
    return Object.fromEntries(names.map((one) => [one, sampleOf(document, schema.properties![one]!, one)]));
  }
  const [type] = [schema.type].flat();
  if (type === 'array') return [sampleOf(document, schema.items ?? {}, name)];
  if (type === 'boolean') return false;
  if (type === 'integer') return 1;
  return name === 'email' ? 'x@example.org' : 'x';
}

/** Every operation with an id in its path, with the query that it must have. */
function operationsWithIds(file: string): [string, string, unknown][] {
  const document = read(file);
  return Object.entries(document.paths)
    .filter(([path]) => path.includes('{'))
    .flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, { parameters = [], requestBody }]): [string, string, unknown] => {
        const schema = requestBody?.content?.['application/json']?.schema;
        const query = parameters.filter((one) => one.in === 'query' && one.required === true);
        const asked = query.map(({ name }) => `${name}=1`).join('&');
        return [
          method.toUpperCase(),
          asked === '' ? path : `${path}?${asked}`,
          schema === undefined ? undefined : sampleOf(document, schema),
        ];
      }),
    );
}

/** NUL, which no database takes, and other characters that no id has. */
const IDS = ['%00', 'task_%00', 'a%00b', '%1b', '%7f', '%E2%80%8B', '%C2%85'];

describe('addresses that nobody of good will writes', () => {
  let platform: ApiPlatform;
  let ada: Browser;
  beforeAll(async () => {
    platform = await startApiPlatform();
    ada = await signInFirstAdmin(platform);
  });
  afterAll(() => platform.close());

  const outcomeOf = async (response: Response): Promise<unknown> => {
    const text = await response.text();
    // Of each request alone.
    return [response.status, text.replaceAll(/"request_id":"[^"]*"/g, '')];
  };

  it.each(operationsWithIds('console-openapi.json'))(
    'NUL: %s %s answers an id that cannot be like one that nobody has',
    async (method, path, body) => {
      const ask = async (id: string) => {
        const asked = path.replace('/console/api', '').replaceAll(/\{\w+\}/g, id);
        return await outcomeOf(await ada.call(asked, { method, ...(body === undefined ? {} : { body }) }));
      };
      const unknown = await ask('-');
      // Whatever is put by its name may be new.
      const isNew = method === 'PUT' && path.includes('/catalog/');
      expect(unknown).toEqual([isNew ? 400 : 404, expect.any(String)]);
      for (const id of IDS) expect(await ask(id)).toEqual(unknown);
    },
  );

  it.each(operationsWithIds('openapi.json'))(
    'NUL: %s %s answers an id that cannot be like one that nobody has',
    async (method, path, body) => {
      const ask = async (id: string) => {
        const asked = path.replaceAll(/\{\w+\}/g, id);
        return await outcomeOf(await platform.call(asked, { method, ...(body === undefined ? {} : { body }) }));
      };
      const unknown = await ask('-');
      expect(unknown).toEqual([expect.any(Number), expect.any(String)]);
      for (const id of IDS) expect(await ask(id)).toEqual(unknown);
    },
  );

  it.each([
    ...[
      '/console/api/session',
      '/%63onsole/api/session',
      '/%63%6F%6e%73%6f%6c%65/api/session',
      '/console%2Fapi/session',
    ],
    ...[
      '//console/api/session',
      '/CONSOLE/api/session',
      '/Console',
      '/console;x=1/api/session',
      '/console',
      '/%63onsole',
    ],
    ...['/console/api/%73ession', '/console/api/nothing', '/%63onsole/api/nothing?x=/v1'],
  ])('CORS: shows %s to no page of another site, and grants no preflight', async (path) => {
    const origin = 'https://evil.example';
    const answers = [
      await fetch(platform.url + path, { headers: { origin, cookie: ada.cookie! } }),
      await fetch(platform.url + path, {
        method: 'OPTIONS',
        headers: {
          origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'x-darkroom-csrf',
        },
      }),
    ];
    for (const { headers } of answers) {
      expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
    }
    expect(answers[1]!.ok).toBe(false);
  });

  it('CORS: goes on letting every page call the API', async () => {
    for (const path of ['/v1/models', '/v1/tasks/%00', '/nothing', '/v1/console']) {
      expect((await fetch(platform.url + path)).headers.get('access-control-allow-origin')).toBe('*');
      const preflight = { method: 'OPTIONS', headers: { 'access-control-request-method': 'POST' } };
      expect((await fetch(platform.url + path, preflight)).status).toBe(204);
    }
  });

  it('4.9: /readyz names the part that is missing, and tells nobody where it is', async () => {
    const line = await FaultProxy.start(platform.settings['DATABASE_URL']!);
    const api = await startApi({ ...platform.settings, ...FREQUENT_CHECKS, DATABASE_URL: line.url });
    try {
      line.fault = 'reset';
      line.cut();
      let answer = '';
      const isAway = async (): Promise<boolean> => {
        const response = await fetch(`${api.url}/readyz`);
        answer = await response.text();
        return response.status === 503;
      };
      expect(await waitUntil(isAway, { timeoutMs: 30_000, everyMs: 100 })).toBe(true);
      const found: unknown = expect.objectContaining({ database: { ...OK, state: 'failing' }, queue: OK });
      expect(JSON.parse(answer)).toEqual({ status: 'not ready', reasons: ['database'], dependencies: found });
      await api.logged('readiness.lost');
      line.fault = 'pass';
      expect(await waitUntil(async () => !(await isAway()), { timeoutMs: 30_000, everyMs: 100 })).toBe(true);
      await api.logged('readiness.restored');
    } finally {
      await api.stop();
      await line.close();
    }
  });
});
