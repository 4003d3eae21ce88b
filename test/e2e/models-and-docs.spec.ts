import { readFile } from 'node:fs/promises';
import { FREQUENT_CHECKS, startApiPlatform, type ApiPlatform } from '../support/platform.js';

const TIME: unknown = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);
const OK = { state: 'ok', since: TIME, checked_at: TIME };

describe('models, health and documents', () => {
  let platform: ApiPlatform;

  beforeAll(async () => {
    platform = await startApiPlatform(FREQUENT_CHECKS);
  });
  afterAll(() => platform.close());

  it('lists the models in OpenAI’s shape', async () => {
    const sizes = expect.arrayContaining(['auto', '1:1', '16:9']) as string[];
    const model = {
      id: 'gpt-image-2',
      object: 'model',
      created: expect.any(Number) as number,
      owned_by: 'darkroom',
      shutdown_date: null,
      supported_endpoint_types: ['image-generation'],
      capabilities: {
        sizes,
        resolutions: ['1k', '2k', '4k'],
        edits: true,
        masks: true,
        markup: true,
        pixel_sizes: { generations: true, min_edge: 64, max_edge: 3_840, max_ratio: 3, max_pixels: 8_294_400 },
        qualities: ['standard', 'hd', 'low', 'medium', 'high', 'auto'],
        edit_qualities: ['standard', 'low', 'medium', 'high', 'auto'],
        output_formats: ['png', 'jpeg', 'webp'],
        input_fidelities: ['high', 'low'],
      },
      limits: { requests_per_minute: null, images: 16, n: 1, prompt_characters: 32_000 },
    };
    const chat = {
      ...model,
      supported_endpoint_types: ['openai'],
      capabilities: { streaming: true },
      limits: { requests_per_minute: null },
    };
    expect(await (await platform.call('/v1/models')).json()).toEqual({
      object: 'list',
      data: [model, { ...chat, id: 'gpt-5.5' }, { ...chat, id: 'gpt-5.4' }],
    });
    expect(await (await platform.call('/v1/models/gpt-image-2')).json()).toEqual(model);
    const unknown = await platform.call('/v1/models/nobody');
    expect(unknown.status).toBe(404);
    expect(await unknown.json()).toMatchObject({ error: { type: 'invalid_request_error', code: 'model_not_found' } });
  });

  it('says what to use instead of a model that has ended, wherever it is named, in any case', async () => {
    const messages = [{ role: 'user', content: 'hi' }];
    const told = async (model: string): Promise<unknown[]> => {
      const answers = await Promise.all([
        platform.call(`/v1/models/${model}`),
        platform.call('/v1/chat/completions', { body: { model, messages } }),
        platform.call('/v1/responses', { body: { model, input: 'hi' } }),
        platform.call('/v1/images/generations', { body: { model, prompt: 'a house' } }),
      ]);
      return Promise.all(
        answers.map(async (answer) => {
          const { error } = (await answer.json()) as { error: { code: string; param: string; message: string } };
          return [answer.status, error.code, error.param, error.message];
        }),
      );
    };
    const text = 'The model was shut down on 2026-05-12. Use gpt-image-2. Available: gpt-image-2';
    for (const model of ['dall-e-3', 'DALL-E-3']) {
      const outcomes = [404, 404, 404, 400].map((status) => [status, 'model_not_found', 'model', text]);
      expect(await told(model)).toEqual(outcomes);
    }
  });

  it('is alive and ready without a key', async () => {
    const alive = await platform.call('/healthz', { key: null });
    expect([alive.status, await alive.json()]).toEqual([200, { status: 'ok' }]);
    const ready = await platform.call('/readyz', { key: null });
    expect([ready.status, await ready.json()]).toEqual([
      200,
      {
        status: 'ready',
        reasons: [],
        dependencies: { database: OK, migrations: OK, commits: OK, queue: OK, storage: OK },
      },
    ]);
  });

  it('is not ready, and says why, when a migration is missing', async () => {
    const { rows } = await platform.pool.query('DELETE FROM _prisma_migrations RETURNING *');
    let body: unknown;
    let status = 200;
    while (status === 200) {
      const response = await platform.call('/readyz');
      ({ status } = response);
      body = await response.json();
    }
    expect(rows.length).toBeGreaterThan(0);
    expect(status).toBe(503);
    expect(await platform.api.logged('readiness.lost')).toMatchObject({ code: 'migrations' });
    expect(platform.api.output()).toContain('migrations are not applied');
    expect(body).toEqual({
      status: 'not ready',
      reasons: ['migrations'],
      dependencies: { database: OK, migrations: { ...OK, state: 'failing' }, commits: OK, queue: OK, storage: OK },
    });
  });

  it('serves the committed OpenAPI document', async () => {
    const served: unknown = await (await platform.call('/openapi.json', { key: null })).json();
    expect(served).toEqual(JSON.parse(await readFile('openapi.json', 'utf8')));
  });

  it('shows a reference page that loads nothing from elsewhere', async () => {
    const page = await platform.call('/docs', { key: null });
    expect(page.status).toBe(200);
    expect(page.headers.get('content-security-policy')).toContain("script-src 'self'");
    const html = await page.text();
    expect(html).not.toMatch(/(?:src|href)="https?:/);
    const assets = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = '']) => new URL(path, page.url));
    expect(assets.length).toBeGreaterThan(3);
    for (const asset of assets) {
      const response = await platform.call(asset.pathname, { key: null });
      expect(response.status).toBe(200);
      await response.arrayBuffer();
    }
  });
});
