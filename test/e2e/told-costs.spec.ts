import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from '#embedded/wait-until.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { FaultProxy, type Fault } from '../support/fault-proxy.js';

const HEADER = 'x-litellm-response-cost';
const GENERATIONS = '/v1/images/generations';
const ORDER = { model: 'gpt-image-2', prompt: 'a small harbour', resolution: '1k', response_format: 'url' };

const modelsOf = (currency: string): string => `currency: ${currency}
providers:
  sandbox: { type: sandbox }
  paid: { type: sandbox, free: false }
models:
  gpt-image-2:
    kind: image
    routes: [{ provider: paid }]
    prices: [{ from: 2026-01-01, per_image: { 1k: { auto: 0.02, high: 0.03 }, 2k: 0.04, 4k: 0.16 } }]
  by-token:
    kind: image
    routes: [{ provider: paid }]
    prices: [{ from: 2026-01-01, per_image: { 1k: 1, 2k: 1, 4k: 1 }, per_million_tokens: { input: 5, output: 30 } }]
  unpriced: { kind: image, routes: [{ provider: paid }] }
  free: { kind: image, routes: [{ provider: sandbox }] }
`;

/** Whoever stands in front, such as LiteLLM, adds up what answers say: each cost is to be told once, as in the ledger. */
describe('the cost that answers tell', () => {
  let platform: Platform;
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-told-costs-'));
    await writeFile(join(folder, 'models.yaml'), modelsOf('USD'));
    platform = await startPlatform({ MODELS_FILE: join(folder, 'models.yaml') });
  });
  afterAll(async () => {
    await platform.close();
    await rm(folder, { recursive: true, force: true });
  });

  const taskOf = (response: Response): string => response.headers.get('x-task-id') ?? '';
  const told = (response: Response): string | null => response.headers.get(HEADER);
  const draw = (fields: object = {}, headers: Record<string, string> = {}): Promise<Response> =>
    platform.call(GENERATIONS, { body: { ...ORDER, ...fields }, headers });

  async function ledgerOf(taskId: string): Promise<number> {
    const { rows } = await platform.pool.query<{ amount: string }>(
      `SELECT amount_micros AS amount FROM charges WHERE task_id = $1 AND kind = 'settle'`,
      [taskId],
    );
    expect(rows).toHaveLength(1);
    return Number(rows[0]?.amount) / 1_000_000;
  }

  it.each([
    ['a link', {}, '0.020000'],
    ['base64', { response_format: 'b64_json', quality: 'high' }, '0.030000'],
    ['tokens', { model: 'by-token' }, undefined],
  ])('is that of the ledger, in an answer that waited: %s', async (_what, fields, amount) => {
    const response = await draw(fields);
    expect(response.status).toBe(200);
    await response.arrayBuffer();
    expect(Number(told(response))).toBe(await ledgerOf(taskOf(response)));
    expect(Number(told(response))).toBeGreaterThan(0);
    if (amount !== undefined) expect(told(response)).toBe(amount);
  });

  it('is in the answer of a chat with an image model', async () => {
    const body = { model: 'gpt-image-2', messages: [{ role: 'user', content: 'a pier' }], resolution: '1k' };
    const response = await platform.call('/v1/chat/completions', { body });
    expect([response.status, told(response)]).toEqual([200, '0.020000']);
  });

  it.each([
    ['/v1/tasks/', 'data'],
    ['/v1/images/tasks/', undefined],
  ])('is in the first poll of %s that has the images, and in no other', async (path, inside) => {
    const accepted = await platform.call(`${GENERATIONS}/async`, { body: { ...ORDER, prompt: `polled at ${path}` } });
    expect(told(accepted)).toBeNull();
    const polls: (string | null)[] = [];
    const isCompleted = async (): Promise<boolean> => {
      const response = await platform.call(path + taskOf(accepted));
      polls.push(told(response));
      const body = (await response.json()) as { status?: string; data?: { status: string } };
      return (inside === undefined ? body : body.data)?.status === 'completed';
    };
    // HEAD delivers nothing.
    await platform.call(path + taskOf(accepted), { method: 'HEAD' });
    expect(await waitUntil(isCompleted, { timeoutMs: 30_000 })).toBe(true);
    expect(polls.pop()).toBe('0.020000');
    expect(polls.every((cost) => cost === null)).toBe(true);
    for (const other of ['/v1/tasks/', '/v1/images/tasks/']) {
      expect(told(await platform.call(other + taskOf(accepted)))).toBeNull();
    }
  });

  it('is told once to callers of one purchase', async () => {
    const headers = { 'idempotency-key': `told-${Date.now()}` };
    const order = { prompt: 'once [[latency=2s]]' };
    const both = await Promise.all([draw(order, headers), draw(order, headers)]);
    const again = await draw(order, headers);
    expect(new Set([...both, again].map(taskOf)).size).toBe(1);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(both.map(told).toSorted()).toEqual(['0.020000', null]);
    expect(told(again)).toBeNull();
  });

  it.each<[string, Fault]>([
    ['before it was sent', 'reset'],
    ['on its way', { cutAfter: 20 }],
  ])('is told to the repetition of a call whose answer was lost %s, which buys nothing', async (when, fault) => {
    let body = ORDER;
    const tasks = async (condition = 'true'): Promise<number> => {
      const text = `SELECT FROM tasks WHERE prompt = $1 AND ${condition}`;
      return (await platform.pool.query(text, [body.prompt])).rowCount ?? 0;
    };
    let calls = 0;
    // What is cut later than a second after it was written counts as received. The proxy may be that late: then again.
    const isLost = async (): Promise<boolean> => {
      body = { ...ORDER, prompt: `lost ${when}, ${++calls} [[latency=12s]]` };
      const proxy = await FaultProxy.start(platform.url);
      const lost = platform.call(GENERATIONS, { body, at: proxy });
      expect(await waitUntil(async () => (await tasks()) === 1, { timeoutMs: 30_000 })).toBe(true);
      proxy.fault = fault;
      await expect(lost.then(async (response) => response.text())).rejects.toThrow();
      await proxy.close();
      return await waitUntil(async () => (await tasks('abandoned_at IS NOT NULL')) === 1, { timeoutMs: 5_000 });
    };
    expect(await waitUntil(isLost, { timeoutMs: 60_000 })).toBe(true);
    const repeated = await platform.call(GENERATIONS, { body });
    expect([repeated.status, told(repeated), await tasks()]).toEqual([200, '0.020000', 1]);
  });

  it('is nothing where nothing is charged, and absent where it is unknown', async () => {
    expect(told(await draw({ model: 'free' }))).toBe('0.000000');
    expect(told(await draw({ model: 'unpriced' }))).toBeNull();
    expect(told(await draw({ prompt: '[[fault=moderation]]' }))).toBeNull();
  });
});

it('is absent where the currency is not the dollar', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-told-costs-'));
  await writeFile(join(folder, 'models.yaml'), modelsOf('EUR'));
  const platform = await startPlatform({ MODELS_FILE: join(folder, 'models.yaml') });
  const response = await platform.call(GENERATIONS, { body: ORDER });
  expect([response.status, response.headers.get(HEADER)]).toEqual([200, null]);
  await platform.close();
  await rm(folder, { recursive: true, force: true });
});
