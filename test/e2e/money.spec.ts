import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../support/free-port.js';
import { waitUntil } from '#embedded/wait-until.js';
import { BudgetRepository } from '#billing/budget.repository.js';
import { gradientImage } from '../../libs/images/sample-images.fixture.js';
import { signInFirstAdmin } from '../support/console.js';
import { patient } from '../support/patience.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { startApi, type TestProcess } from '../support/processes.js';
import { databaseOf } from '../support/open-prisma.js';

const GENERATIONS = '/v1/images/generations';
const EDITS = '/v1/images/edits';
const ORDER = { model: 'gpt-image-2', prompt: 'a small harbour', resolution: '1k' };

interface Cost {
  amount: string | null;
  currency: string;
  state: string;
  token_costs?: { class: string; tokens: number; amount: string }[];
}

/** Two APIs that share nothing but the database and Redis, and a price book. */
describe('money', () => {
  let platform: Platform;
  let second: TestProcess;
  let folder: string;
  let metricsPort: number;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-money-'));
    await writeFile(
      join(folder, 'models.yaml'),
      `providers:
  sandbox: { type: sandbox }
  paid: { type: sandbox, free: false }
models:
  gpt-image-2:
    kind: image
    routes: [{ provider: sandbox }]
    prices: [{ from: 2026-01-01, per_image: { 1k: { auto: 0.02, high: 0.03 }, 2k: 0.04, 4k: 0.16 } }]
  unpriced: { kind: image, routes: [{ provider: paid }] }
  by-tokens:
    kind: image
    routes: [{ provider: paid }]
    prices:
      - from: 2026-01-01
        per_image: { 1k: 0.05, 2k: 0.04, 4k: 0.16 }
        per_million_tokens: { input: 5, cached_input: 1.25, image_input: 8, cached_image_input: 2, output: 30 }
  metered:
    kind: image
    routes: [{ provider: paid }]
    prices: [{ from: 2026-01-01, per_million_tokens: { input: 5, image_input: 8, output: 30 } }]
  squares: { kind: image, routes: [{ provider: sandbox, capabilities: { sizes: [1024x1024], masks: false } }] }
  talk:
    kind: chat
    routes: [{ provider: sandbox }]
    prices: [{ from: 2026-01-01, per_million_tokens: { input: 1000, output: 1000 } }]
  unpriced-talk: { kind: chat, routes: [{ provider: paid }] }
`,
    );
    platform = await startPlatform({ MODELS_FILE: join(folder, 'models.yaml') });
    metricsPort = await freePort();
    second = await startApi({ ...platform.settings, METRICS_PORT: String(metricsPort) });
  });
  afterAll(async () => {
    await second.stop();
    await platform.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** A key of its own, with a budget in whole units. */
  async function keyWithBudget(units: number): Promise<{ key: string; id: string }> {
    const { id, key } = await platform.newKeyWithId();
    await new BudgetRepository(databaseOf(platform)).set(
      { ownerId: id, owner: 'key' },
      { limit: units * 1_000_000, period: 'total' },
    );
    return { key, id };
  }

  async function costOf(taskId: string, state?: string): Promise<Cost | undefined> {
    let cost: Cost | undefined;
    await waitUntil(
      async () => {
        const answer = await platform.call(`/v1/tasks/${taskId}`);
        cost = ((await answer.json()) as { data: { cost?: Cost } }).data.cost;
        return state === undefined || cost?.state === state;
      },
      { timeoutMs: 30_000 },
    );
    return cost;
  }

  async function rowCount(): Promise<unknown> {
    // The end of a task of an earlier test adds charges.
    const isCalm = async (): Promise<boolean> =>
      (await platform.pool.query(`SELECT 1 FROM tasks WHERE status = 'pending'`)).rowCount === 0;
    expect(await waitUntil(isCalm, { timeoutMs: 60_000 })).toBe(true);
    const { rows } = await platform.pool.query(
      'SELECT (SELECT count(*) FROM tasks) AS tasks, (SELECT count(*) FROM charges) AS charges',
    );
    return rows[0];
  }

  const taskIdOf = (response: Response): string => response.headers.get('x-task-id') ?? '';

  it('of one budget lasts for as many images at two processes as at one, and then is 402', async () => {
    const { key, id } = await keyWithBudget(0.1);
    const timeout = AbortSignal.timeout(patient(30_000));
    const submit = async (url: string): Promise<Response> => {
      const answer = await fetch(`${url}${GENERATIONS}/async`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(ORDER),
        signal: timeout,
      });
      // They queue up for the row of the budget; on a slow machine the last may wait longer than the API lets them.
      return answer.status === 503 ? await submit(url) : answer;
    };
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => submit(n % 2 === 0 ? platform.url : second.url)),
    );
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(5);
    const refused = answers.filter(({ status }) => status === 402);
    expect(refused).toHaveLength(45);
    expect(await refused[0]?.json()).toMatchObject({
      type: 'error',
      error: {
        type: 'billing_error',
        code: 'insufficient_quota',
        message: 'The budget of this API key does not cover the request: nothing is left.',
        param: null,
      },
    });
    expect(refused[0]?.headers.get('x-task-id')).toBeNull();
    for (const answer of answers) if (answer.status === 202) await costOf(taskIdOf(answer), 'settled');
    expect(await new BudgetRepository(databaseOf(platform)).find([id])).toMatchObject([
      { spent: 100_000, limit: 100_000 },
    ]);
  });

  it.each<[string, object, string]>([
    ['a tier', {}, '0.020000'],
    ['a quality', { quality: 'hd' }, '0.030000'],
    ['no size', { size: 'auto' }, '0.020000'],
  ])('is quoted as it will be billed: %s', async (_name, changes, amount) => {
    const { key } = await keyWithBudget(1);
    const before = await rowCount();
    const asked = await platform.call(`${GENERATIONS}?dry_run=true`, { key, body: { ...ORDER, ...changes } });
    const quote = (await asked.json()) as { cost: { amount: string } };
    expect([asked.status, quote]).toEqual([
      200,
      {
        object: 'quote',
        model: 'gpt-image-2',
        size: 'size' in changes ? 'auto' : '1024x1024',
        resolution: '1k',
        quality: 'quality' in changes ? 'hd' : 'auto',
        cost: { amount, currency: 'USD', exact: true },
        budget_left: '1.000000',
        within_budget: true,
      },
    ]);
    expect(await rowCount()).toEqual(before);
    const answer = await platform.call(GENERATIONS, { body: { ...ORDER, ...changes, response_format: 'url' } });
    expect(answer.status).toBe(200);
    expect(await costOf(taskIdOf(answer))).toEqual({ amount: quote.cost.amount, currency: 'USD', state: 'settled' });
  });

  it('is quoted for edits of both forms, by every path, and leaves nothing behind', async () => {
    const png = await gradientImage(128, 96, 'png');
    const form = new FormData();
    form.append('prompt', 'a fox');
    form.append('size', '3840x2160');
    form.append('image', new Blob([new Uint8Array(png)]), 'a.png');
    const images = [{ image_url: `data:image/png;base64,${png.toString('base64')}` }];
    const before = await rowCount();
    const answers = await Promise.all([
      platform.call(`${EDITS}?dry_run=1`, { body: form }),
      platform.call(`${EDITS}/async?dry_run=true`, { body: { prompt: 'x', size: '3840x2160', images } }),
    ]);
    for (const answer of answers) {
      expect(await answer.json()).toMatchObject({
        object: 'quote',
        size: '3840x2160',
        resolution: '4k',
        cost: { amount: '0.160000' },
        budget_left: null,
      });
      expect(answer.headers.get('x-task-id')).toBeNull();
    }
    expect(await rowCount()).toEqual(before);
  });

  it('is quoted only for what would be accepted, and never by a guess', async () => {
    const bad = await platform.call(`${GENERATIONS}?dry_run=true`, { body: { ...ORDER, resolution: '3k' } });
    expect([bad.status, await bad.json()]).toMatchObject([400, { error: { param: 'resolution' } }]);
    const before = await rowCount();
    const unclear = await platform.call(`${GENERATIONS}/async?dry_run=yes`, { body: ORDER });
    expect([unclear.status, await unclear.json()]).toMatchObject([400, { error: { param: 'dry_run' } }]);
    for (const [query, param, message] of [
      ['strict=true', 'strict', 'belongs in the request body'],
      ['N=2', 'n', 'belongs in the request body'],
      ['async=yes', 'async', 'must be true or false'],
      ['Async=true', 'async', 'Did you mean async?'],
      ['dry_run=true&dry_run=true', 'dry_run', 'must be true or false, once'],
    ]) {
      const misplaced = await platform.call(`${GENERATIONS}?${query}`, { body: ORDER });
      expect([misplaced.status, await misplaced.json()]).toMatchObject([
        400,
        { error: { code: 'invalid_value', param, message: expect.stringContaining(message ?? '') } },
      ]);
    }
    for (const query of [
      'dryrun=true',
      'dryRun=true',
      'dry-run=1',
      'dry_run[]=true',
      'dry_run%5B0%5D=1',
      '+dry_run=1',
    ]) {
      const misspelled = await platform.call(`${GENERATIONS}?${query}`, { body: ORDER });
      expect([misspelled.status, await misspelled.json()]).toMatchObject([
        400,
        {
          error: { code: 'invalid_value', param: 'dry_run', message: expect.stringContaining('Did you mean dry_run?') },
        },
      ]);
    }
    for (const query of ['dryrnu=true', 'preview=1', 'true', '=true', 'api-version=1&__proto__=x', 'x'.repeat(5_000)]) {
      for (const path of [GENERATIONS, `${GENERATIONS}/async`, EDITS, '/images/generations', '/v1/chat/completions']) {
        const unknown = await platform.call(`${path}?${query}`, { body: ORDER });
        const { error } = (await unknown.json()) as { error: { code: string; message: string; param: string } };
        expect([unknown.status, error.code, query.includes(error.param.slice(0, 40))]).toEqual([
          ...[400, 'unsupported_parameter', true],
        ]);
        expect(error.message).toMatch(/^Unknown query parameter .{1,41}\. .*api-version\.$/);
      }
    }
    expect(await rowCount()).toEqual(before);
    // Clients of Azure send it with every request; an empty query asks for nothing.
    for (const query of ['api-version=2026-10-01&dry_run=true', 'dry_run=true&', '&dry_run=true']) {
      expect((await platform.call(`${GENERATIONS}?${query}`, { body: ORDER })).status).toBe(200);
    }
    expect(await rowCount()).toEqual(before);
    const { key } = await keyWithBudget(0.01);
    const dear = await platform.call(`${GENERATIONS}?dry_run=true`, { key, body: ORDER });
    expect(await dear.json()).toMatchObject({ budget_left: '0.010000', within_budget: false });
  });

  it('by tokens is what each of their classes costs, in the task, in the ledger and in the table of tasks', async () => {
    const png = await gradientImage(640, 480, 'png');
    const images = [{ image_url: `data:image/png;base64,${png.toString('base64')}` }];
    const body = { model: 'by-tokens', prompt: 'a small harbor', size: '1024x1024', images };
    const quoted = await platform.call(`${EDITS}?dry_run=true`, { body });
    expect(await quoted.json()).toMatchObject({ cost: { amount: '0.050000', exact: false } });
    const answer = await platform.call(EDITS, { body: { ...body, response_format: 'url' } });
    const { usage } = (await answer.json()) as {
      usage: { output_tokens: number; input_tokens_details: { text_tokens: number; image_tokens: number } };
    };
    const { text_tokens: text, image_tokens: image } = usage.input_tokens_details;
    // Millionths; the prices are whole ones of a token.
    const amounts = { input: text * 5, image_input: image * 8, output: usage.output_tokens * 30 };
    const decimal = (micros: number): string => (micros / 1e6).toFixed(6);
    const sum = amounts.input + amounts.image_input + amounts.output;
    expect(await costOf(taskIdOf(answer))).toEqual({
      amount: decimal(sum),
      currency: 'USD',
      state: 'settled',
      token_costs: [
        { class: 'input', tokens: text, amount: decimal(amounts.input) },
        { class: 'image_input', tokens: image, amount: decimal(amounts.image_input) },
        { class: 'output', tokens: usage.output_tokens, amount: decimal(amounts.output) },
      ],
    });
    const { rows } = await platform.pool.query(
      `SELECT amount_micros::int AS amount, token_costs FROM charges WHERE task_id = $1 AND kind = 'settle'`,
      [taskIdOf(answer)],
    );
    expect(rows).toEqual([
      {
        amount: sum,
        token_costs: {
          input: { tokens: text, amount: amounts.input },
          image_input: { tokens: image, amount: amounts.image_input },
          output: { tokens: usage.output_tokens, amount: amounts.output },
        },
      },
    ]);
    const ada = await signInFirstAdmin(platform);
    const table = (await (await ada.call('/tasks.csv')).text()).split('\r\n').map((line) => line.split(','));
    const row = table.find(([id]) => id === taskIdOf(answer)) ?? [];
    const named = Object.fromEntries((table[0] ?? []).map((name, index) => [name, row[index]]));
    expect(named).toMatchObject({
      ...{ cost: decimal(sum), input_tokens: String(text), input_cost: decimal(amounts.input) },
      ...{ cached_input_tokens: '', image_input_tokens: String(image), image_input_cost: decimal(amounts.image_input) },
      ...{ output_tokens: String(usage.output_tokens), output_cost: decimal(amounts.output), svg_output_cost: '' },
    });
  });

  it('by tokens without a maximum is unknown until they are counted, and refused to who has a budget', async () => {
    const order = { ...ORDER, model: 'metered' };
    const quoted = await platform.call(`${GENERATIONS}?dry_run=true`, { body: order });
    expect(await quoted.json()).toMatchObject({ cost: { amount: null, exact: false } });
    const answer = await platform.call(GENERATIONS, { body: { ...order, response_format: 'url' } });
    const cost = await costOf(taskIdOf(answer));
    const { usage } = (await answer.json()) as { usage: { input_tokens: number; output_tokens: number } };
    const amount = ((usage.input_tokens * 5 + usage.output_tokens * 30) / 1e6).toFixed(6);
    expect(cost).toMatchObject({ amount, state: 'settled' });
    const { key } = await keyWithBudget(100);
    const refused = await platform.call(GENERATIONS, { key, body: order });
    expect([refused.status, await refused.json()]).toMatchObject([403, { error: { code: 'model_not_allowed' } }]);
    const listed = await platform.call('/v1/models/metered');
    expect(await listed.json()).toMatchObject({
      price: { currency: 'USD', per_million_tokens: { input: 5, image_input: 8, output: 30 } },
    });
  });

  it('without a known price is flagged, and refused to who has a budget', async () => {
    const order = { ...ORDER, model: 'unpriced' };
    const quoted = await platform.call(`${GENERATIONS}?dry_run=true`, { body: order });
    expect(await quoted.json()).toMatchObject({ cost: { amount: null, exact: false }, within_budget: true });
    // So that it has not ended when it is cancelled.
    platform.worker.kill('SIGSTOP');
    const taken = await platform.call(`${GENERATIONS}/async`, { body: order });
    expect(taken.status).toBe(202);
    expect(await costOf(taskIdOf(taken))).toEqual({ amount: null, currency: 'USD', state: 'unpriced' });
    const elsewhere = await fetch(`${second.url}${GENERATIONS}/async`, {
      method: 'POST',
      headers: { authorization: `Bearer ${platform.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(order),
      signal: AbortSignal.timeout(patient(10_000)),
    });
    expect(elsewhere.status).toBe(202);
    const metrics = await fetch(`http://127.0.0.1:${metricsPort}/metrics`, {
      signal: AbortSignal.timeout(patient(10_000)),
    });
    expect(await metrics.text()).toMatch(/^darkroom_tasks_unpriced_total\{.*model="unpriced".*\} 1$/m);
    const { key } = await keyWithBudget(100);
    const refused = await platform.call(`${GENERATIONS}/async`, { key, body: order });
    expect([refused.status, await refused.json()]).toMatchObject([
      403,
      { error: { type: 'permission_error', code: 'model_not_allowed', param: 'model' } },
    ]);
    await platform.call(`/v1/tasks/${taskIdOf(taken)}/cancel`, { method: 'POST' });
    platform.worker.kill('SIGCONT');
    expect(await costOf(taskIdOf(taken))).toEqual({ amount: '0.000000', currency: 'USD', state: 'refunded' });
  });

  it('is told in lists, and nothing is said where nothing is charged', async () => {
    const free = await platform.call(GENERATIONS, { body: { ...ORDER, model: 'gpt-image-2', response_format: 'url' } });
    const listed = (await (await platform.call('/v1/tasks?limit=100')).json()) as {
      data: { id: string; cost?: Cost }[];
    };
    expect(listed.data.find(({ id }) => id === taskIdOf(free))?.cost).toMatchObject({ amount: '0.020000' });
    const squares = await platform.call(`${GENERATIONS}/async`, { body: { ...ORDER, model: 'squares' } });
    expect(await costOf(taskIdOf(squares))).toBeUndefined();
    const { rows } = await platform.pool.query('SELECT 1 FROM charges WHERE task_id = $1', [taskIdOf(squares)]);
    expect(rows).toEqual([]);
  });

  it('of a budget is counted for chats, too, and the next one is refused when it is used up', async () => {
    const { key, id } = await keyWithBudget(0.001);
    const say = (model: string) =>
      platform.call('/v1/chat/completions', { key, body: { model, messages: [{ role: 'user', content: 'hello' }] } });
    const answer = (await (await say('talk')).json()) as {
      usage: { prompt_tokens: number; completion_tokens: number };
    };
    const spent = (answer.usage.prompt_tokens + answer.usage.completion_tokens) * 1_000;
    const counted = async (): Promise<boolean> =>
      (await new BudgetRepository(databaseOf(platform)).find([id])).every((budget) => budget.spent === spent);
    expect(await waitUntil(counted, { timeoutMs: 30_000 })).toBe(true);
    const refused = await say('talk');
    expect([refused.status, await refused.json()]).toMatchObject([402, { error: { code: 'insufficient_quota' } }]);
    const unpriced = await say('unpriced-talk');
    expect([unpriced.status, await unpriced.json()]).toMatchObject([403, { error: { code: 'model_not_allowed' } }]);
    const image = await say('gpt-image-2');
    expect([image.status, await image.json()]).toMatchObject([402, { error: { code: 'insufficient_quota' } }]);
  });

  describe('strict', () => {
    const strict = { ...ORDER, model: 'squares', strict: true };

    it.each<[string, object, string, string]>([
      [
        'a size that only another one could be cut to',
        { size: '1000x1000', resolution: undefined },
        'invalid_value',
        'size',
      ],
      ['a field that nobody knows', { seed: 7 }, 'unsupported_parameter', 'seed'],
    ])('refuses %s, and keeps nothing', async (_name, changes, code, param) => {
      const before = await rowCount();
      const answer = await platform.call(`${GENERATIONS}/async`, { body: { ...strict, ...changes } });
      expect([answer.status, await answer.json()]).toMatchObject([400, { error: { code, param } }]);
      expect(await rowCount()).toEqual(before);
      const loose = await platform.call(`${GENERATIONS}/async`, { body: { ...strict, ...changes, strict: false } });
      expect(loose.status).toBe(202);
    });

    it('refuses a mask of a form that no route takes, and accepts what can be done exactly', async () => {
      const png = await gradientImage(1024, 1024, 'png');
      const form = (withMask: boolean): FormData => {
        const data = new FormData();
        for (const [name, text] of Object.entries({
          prompt: 'x',
          model: 'squares',
          strict: 'true',
          size: '1024x1024',
        })) {
          data.append(name, text);
        }
        data.append('image', new Blob([new Uint8Array(png)]), 'a.png');
        if (withMask) data.append('mask', new Blob([new Uint8Array(png)]), 'm.png');
        return data;
      };
      const refused = await platform.call(`${EDITS}/async`, { body: form(true) });
      expect([refused.status, await refused.json()]).toMatchObject([400, { error: { param: 'mask' } }]);
      expect((await platform.call(`${EDITS}/async`, { body: form(false) })).status).toBe(202);
      // The sandbox makes 16:9, too: it is not asked for the route's sizes.
      for (const body of [strict, { ...strict, size: '16:9' }]) {
        expect((await platform.call(`${GENERATIONS}/async`, { body })).status).toBe(202);
      }
    });

    it('absent, what is ignored is listed in the task', async () => {
      const answer = await platform.call(GENERATIONS, { body: { ...ORDER, seed: 7, response_format: 'url' } });
      const task = (await (await platform.call(`/v1/tasks/${taskIdOf(answer)}`)).json()) as { data: object };
      expect(task.data).toMatchObject({
        sizes: { requested: '1024x1024', sent: '1024x1024', received: '1024x1024' },
        warnings: ['The field seed is unknown and was ignored.'],
      });
    });
  });
});
