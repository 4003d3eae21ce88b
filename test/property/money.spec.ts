import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { AppError } from '#contract/app-error.js';
import { PrismaService } from '#database/prisma.service.js';
import { BudgetRepository } from '#billing/budget.repository.js';
import { ChatUsageRepository } from '#billing/chat-usage.repository.js';
import { RollUpUsage } from '#billing/roll-up-usage.js';
import { UsageRepository } from '#billing/usage.repository.js';
import type { Budget } from '#billing/budgets.js';
import { quoteImage, type TaskCost } from '#billing/quote.js';
import { modelOf } from '#catalog/catalog.js';
import { parseCatalog } from '#catalog/parse-catalog.js';
import type { TokenCosts } from '#contract/cost-view.js';
import type { TokenClass } from '#contract/token-classes.js';
import { tokenUsage } from '#providers/http/token-usage.js';
import { mayBeCharged, type ProviderCall } from '#tasks/row/provider-call.js';
import type { RequestIdentity } from '#tasks/intake/request-identity.js';
import type { TaskIntake } from '#tasks/intake/task-intake.js';
import { RetractTasks } from '#tasks/intake/retract-tasks.js';
import { allTasksOf, taskError } from '#tasks/row/task.js';
import { newTaskId } from '#tasks/row/task-id.js';
import { TaskTransitions } from '#tasks/states/task-transitions.js';
import { TaskStore } from '#tasks/reading/task-store.js';
import { PROPERTY_TIMEOUT_MS, runs } from '../support/effort.js';
import { command, newIntake, openTaskRoom, type TaskRoom } from '../support/task-room.js';

const IMAGE = { key: 'results/x', contentType: 'image/png', width: 1, height: 1, bytes: 1, sha256: 'ab' };
const FAILURE = taskError(new AppError('upstream_error', 'no'));
/** Callers as `<account> <key>`; each account and all keys but one have a budget. */
const CALLERS = ['a 1', 'a 2', 'a free', 'b 3'] as const;
const OWNERS: readonly [string, Budget['owner'], Budget['period'], number][] = [
  ['a', 'account', 'month', 100],
  ['b', 'account', 'total', 70],
  ['1', 'key', 'total', 45],
  ['2', 'key', 'month', 70],
  ['3', 'key', 'month', 60],
];

/** Of so many images, each at the same price. */
const reserved = (amount: number | null, n = 1, tokens?: TaskCost['tokens']): TaskCost => ({
  reserved: amount === null ? null : n * amount,
  currency: 'USD',
  ...(n === 1 ? {} : { n }),
  ...(tokens === undefined ? {} : { tokens }),
});
const n = fc.constantFrom(1, 1, 1, 2, 3);
const price = fc.integer({ min: 1, max: 30 });
const cost = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(price, n).map(([amount, images]) => reserved(amount, images)) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(price, n)
      .map(([amount, images]) => reserved(amount, images, { input: 500_000, output: 900_000 })),
  },
  fc.constantFrom<TaskCost | null>(null, reserved(null), reserved(0)),
);
const mark = fc.constantFrom('none', 'key x', 'key y', 'retry x', 'retry y');

const MOVES = ['claim', 'call', 'call for free', 'release', 'fail', 'cancel', 'expire', 'retract'] as const;

type Step =
  | { readonly kind: 'submit'; readonly caller: (typeof CALLERS)[number]; readonly cost: TaskCost | null; mark: string }
  | { readonly kind: 'complete'; readonly task: number; readonly tokens: number; readonly images: number }
  | { readonly kind: (typeof MOVES)[number]; readonly task: number }
  | { readonly kind: 'set'; readonly owner: number }
  | { readonly kind: 'roll up' }
  | { readonly kind: 'chat'; readonly cost: number | null };

/** Few, so that much happens to each. */
const task = fc.nat({ max: 6 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ kind: fc.constant('submit' as const), caller: fc.constantFrom(...CALLERS), cost, mark }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('complete' as const),
      task,
      tokens: fc.nat({ max: 40 }),
      images: fc.integer({ min: 1, max: 4 }),
    }),
  },
  { weight: 16, arbitrary: fc.record({ kind: fc.constantFrom(...MOVES, 'call', 'call', 'cancel'), task }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('set' as const), owner: fc.nat({ max: OWNERS.length - 1 }) }) },
  { weight: 3, arbitrary: fc.constant({ kind: 'roll up' as const }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('chat' as const), cost: fc.option(fc.nat({ max: 40 })) }) },
);
/** What happens at the same time, and then what comes after. */
const course = fc.array(fc.array(step, { minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 6 });

interface EndedRow {
  readonly status: string | null;
  readonly calls: ProviderCall[] | null;
  readonly delivered: number;
  readonly cost: TaskCost;
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number };
  readonly reserves: number;
  readonly ends: number;
  readonly reserved: number | null;
  readonly settled: number;
  readonly refunded: number;
}

/** What a completed task costs; 0 where the price was not known, whose settlement has no amount. */
function dueFor({
  cost: { reserved: amount, n: images = 1, tokens },
  delivered,
  usage,
}: Omit<EndedRow, 'calls'>): number {
  if (amount === null) return 0;
  const most = (amount / images) * Math.min(delivered, images);
  if (tokens === undefined) return most;
  return Math.min(most, Math.ceil((usage.input_tokens * tokens.input + usage.output_tokens * tokens.output) / 1e6));
}

/** What a server said, and what it comes to: tokens by class, null if nothing was counted. */
interface SaidUsage {
  readonly name: string;
  readonly usage: unknown;
  readonly svg_usage?: unknown;
  /** At prices where images cost more than text, cached or not, and caching saves more for images. */
  readonly tokens: Readonly<Partial<Record<TokenClass, number>>> | null;
}

interface Settled {
  readonly reserved: string | null;
  readonly settled: string | null;
  readonly costs: TokenCosts | null;
  readonly shown: TokenCosts | null;
}

const USAGES = readFileSync(join(import.meta.dirname, 'usages.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as SaidUsage);

const MILLION = 1_000_000n;
/** Prices of an image and of a million tokens; `written` is what the price book says, if it leaves classes out. */
const PRICES = [
  {
    name: 'every-class',
    most: '9000',
    isByClass: true,
    perMillion: {
      ...{ input: '5', cached_input: '1.25', image_input: '8', cached_image_input: '2' },
      ...{ output: '30', text_output: '10', svg_input: '2.5', svg_output: '15' },
    },
  },
  {
    name: 'odd-amounts',
    most: '9000',
    isByClass: true,
    perMillion: {
      ...{ input: '1.234567', cached_input: '0.123457', image_input: '7.654321', cached_image_input: '1.000003' },
      ...{ output: '29.999999', text_output: '9.876543', svg_input: '2.345679', svg_output: '14.141593' },
    },
  },
  {
    name: 'without-maximum',
    most: undefined,
    isByClass: true,
    perMillion: {
      ...{ input: '5', cached_input: '1.25', image_input: '8', cached_image_input: '2' },
      ...{ output: '30', text_output: '30', svg_input: '30', svg_output: '30' },
    },
    written: { input: '5', cached_input: '1.25', image_input: '8', cached_image_input: '2', output: '30' },
  },
  {
    name: 'two-classes',
    most: '0.04',
    isByClass: false,
    perMillion: {
      ...{ input: '5', cached_input: '5', image_input: '5', cached_image_input: '5' },
      ...{ output: '30', text_output: '30', svg_input: '30', svg_output: '30' },
    },
    written: { input: '5', output: '30' },
  },
] as const;
const BOOK = parseCatalog(
  `providers: { paid: { type: sandbox, free: false } }
models:
${PRICES.map(({ name, most, perMillion, ...price }) => {
  const tokens = Object.entries('written' in price ? price.written : perMillion).map(
    ([one, amount]) => `${one}: ${amount}`,
  );
  const images = most === undefined ? '' : `per_image: { 1k: ${most}, 2k: ${most}, 4k: ${most} }, `;
  return `  ${name}:
    kind: image
    routes: [{ provider: paid }]
    prices: [{ from: 2026-01-01, ${images}per_million_tokens: { ${tokens.join(', ')} } }]`;
}).join('\n')}
`,
  'test',
  {},
);

/** Millionths of a decimal number of units. */
function microsOf(units: string): bigint {
  const [whole = '', decimals = ''] = units.split('.');
  return BigInt(whole + decimals.padEnd(6, '0'));
}

/** The bill by hand: every class at its price, and the sum rounded up to a whole millionth. */
function dueForTokens(
  tokens: NonNullable<SaidUsage['tokens']>,
  perMillion: Readonly<Record<TokenClass, string>>,
): bigint {
  const classes = Object.keys(tokens) as TokenClass[];
  const sum = classes.reduce((all, name) => all + BigInt(tokens[name] ?? 0) * microsOf(perMillion[name]), 0n);
  return (sum + MILLION - 1n) / MILLION;
}

const isUsed = ({ spend, chats, images }: Record<string, unknown>): boolean =>
  [spend, chats, images].some((n) => n !== 0);

/** Each process has a pool of its own; steps take turns between them. */
describe('the ledger', () => {
  let room: TaskRoom;
  let processes: { database: PrismaService; intake: TaskIntake; store: TaskStore; transitions: TaskTransitions }[];
  let runCount = 0;
  beforeAll(async () => {
    room = await openTaskRoom();
    const config = { databaseUrl: room.databaseUrl, databasePool: 8, connectTimeoutMs: 60_000, queryTimeoutMs: 60_000 };
    processes = [room.database, new PrismaService(config, room.logger)].map((database) => ({
      database,
      store: new TaskStore(database),
      intake: newIntake(database, room.tasksConfig, room.lostCallers).intake,
      transitions: new TaskTransitions(database),
    }));
  });
  afterAll(async () => {
    await processes[1]?.database.close();
    await room.close();
  });

  /** One run in a world of its own: accounts and keys get its number. */
  class World {
    private readonly run = `_${++runCount}`;
    private readonly ids: string[] = [];
    private turn = 0;

    async open(): Promise<void> {
      for (const index of OWNERS.keys()) await this.set(index);
    }

    async step(next: Step): Promise<void> {
      const { database, intake, store, transitions } = processes[this.turn++ % 2] as (typeof processes)[number];
      if (next.kind === 'set') return this.set(next.owner);
      if (next.kind === 'roll up') return new RollUpUsage(new UsageRepository(database)).run();
      if (next.kind === 'chat') return this.chat(database, next.cost);
      if (next.kind === 'submit') return this.submit(intake, next);
      const id = this.ids[next.task % Math.max(1, this.ids.length)];
      if (id === undefined) return;
      const { rows } = await database.pool.query<{ account_id: string; attempt: number }>(
        'SELECT account_id, attempt FROM tasks WHERE id = $1',
        [id],
      );
      const lease = { id, attempt: rows[0]?.attempt ?? 0 };
      if (next.kind === 'claim') await transitions.claim(id, 'worker', 20_000);
      else if (next.kind === 'call' || next.kind === 'call for free') {
        const call = { provider: 'p', key: '', model: 'm', free: next.kind === 'call for free' };
        const { attempt = lease.attempt } = (await transitions.claim(id, 'worker', 20_000)) ?? {};
        await transitions.startProvider({ id, attempt }, call, 3, { outcome: 'failed', charged: 'no' });
      } else if (next.kind === 'release') {
        await transitions.release(lease, 0, { outcome: 'unknown', charged: next.task % 2 === 0 ? 'maybe' : 'no' });
      } else if (next.kind === 'fail') await transitions.fail(lease, FAILURE);
      else if (next.kind === 'cancel') await store.cancel(allTasksOf(rows[0]?.account_id ?? ''), id);
      else if (next.kind === 'complete') {
        const usage = { input_tokens: next.tokens, output_tokens: next.tokens, total_tokens: 2 * next.tokens };
        const images = Array.from({ length: next.images }, () => IMAGE);
        await transitions.complete(lease, { images, usage, warnings: [] });
      } else if (next.kind === 'expire') {
        await database.pool.query(`UPDATE tasks SET deadline_at = now() - interval '1 s' WHERE id = $1`, [id]);
        await room.newSweep().failOverdue();
      } else {
        const retract = new RetractTasks(database, room.queue, room.tasksConfig, room.logger);
        retract.add(id);
        await retract.retractNow();
      }
    }

    /** What nobody has ended, the deadline does. */
    async close(): Promise<void> {
      await room.sql(`UPDATE tasks SET deadline_at = now() - interval '1 s' WHERE status = 'pending'`);
      await room.newSweep().failOverdue();
    }

    /** No budget is exceeded, each has spent what the ledger says, and exactly what has not ended is still reserved. */
    async check(): Promise<void> {
      const { rows: wrong } = await room.sql(
        `SELECT id, reserved, task_id, amount_micros FROM (
           SELECT id, (cost ->> 'reserved')::bigint AS reserved FROM tasks WHERE status = 'pending' AND account_id LIKE $1) AS waiting
         FULL JOIN (SELECT * FROM task_reserves WHERE account_id LIKE $1) AS reserves ON id = task_id
         WHERE COALESCE(reserved, 0) <> COALESCE(amount_micros, 0)`,
        [`%${this.run}`],
      );
      expect(wrong).toEqual([]);
      const { rows } = await room.sql(
        `SELECT owner_id, limit_micros::int AS most, spent_micros::int AS spent, (
           SELECT COALESCE(sum(CASE kind WHEN 'reserve' THEN amount_micros WHEN 'refund' THEN -amount_micros END), 0)::int
           FROM charges WHERE owner_id IN (account_id, api_key_id)) AS ledger
         FROM budgets WHERE owner_id LIKE $1`,
        [`%${this.run}`],
      );
      expect(rows).toHaveLength(OWNERS.length);
      for (const { most, spent, ledger } of rows as { most: number; spent: number; ledger: number }[]) {
        expect(spent).toBeLessThanOrEqual(most);
        expect(spent).toBe(ledger);
      }
    }

    /**
     * Of every task that has ended: what was reserved is what was settled and refunded, and only those cost which are
     * completed, each of their images at its price or all of them at that of their tokens if it is less, or were cancelled
     * after a call that may have been charged: those all of it.
     */
    async checkEnds(): Promise<void> {
      const { rows } = await room.sql(
        `SELECT task_id, status, calls, jsonb_array_length(images) AS delivered, cost, usage,
           count(*) FILTER (WHERE kind = 'reserve')::int AS reserves,
           count(*) FILTER (WHERE kind <> 'reserve')::int AS ends,
           sum(amount_micros) FILTER (WHERE kind = 'reserve')::int AS reserved,
           COALESCE(sum(amount_micros) FILTER (WHERE kind = 'settle'), 0)::int AS settled,
           COALESCE(sum(amount_micros) FILTER (WHERE kind = 'refund'), 0)::int AS refunded
         FROM charges LEFT JOIN tasks ON id = task_id WHERE charges.account_id LIKE $1 GROUP BY task_id, status, calls, images, cost, usage`,
        [`%${this.run}`],
      );
      for (const { calls, ...row } of rows as EndedRow[]) {
        expect(row).toMatchObject({ reserves: 1 });
        expect(row.ends).toBeGreaterThanOrEqual(1);
        if (row.reserved !== null) expect(row.settled + row.refunded).toBe(row.reserved);
        // A row without a task is one that was taken back.
        if (row.status === 'cancelled' && calls?.some(mayBeCharged) === true) {
          expect(row.settled).toBe(row.reserved ?? 0);
        } else expect(row.settled).toBe(row.status === 'completed' ? dueFor(row) : 0);
      }
      const charged = await room.sql(
        `SELECT id FROM tasks WHERE account_id LIKE $1 AND cost IS NOT NULL AND (status = 'pending'
           OR NOT EXISTS (SELECT 1 FROM charges WHERE task_id = id AND kind = 'reserve'))`,
        [`%${this.run}`],
      );
      expect(charged.rows).toEqual([]);
    }

    /** What was added up, of hours, of days and in total, is what the ledger and the chats say, of each key and outcome. */
    async checkUsage(): Promise<void> {
      const figures = await room.sql(
        `SELECT account_id, api_key_id, sum(spend_micros)::int AS spend,
           COALESCE(sum(count) FILTER (WHERE kind = 'chat'), 0)::int AS chats, COALESCE(sum(images), 0)::int AS images
         FROM usage_rollups WHERE account_id LIKE $1 AND step = 'hour' GROUP BY 1, 2 ORDER BY 1, 2`,
        [`%${this.run}`],
      );
      const days = await room.sql(
        `SELECT account_id, api_key_id, sum(spend_micros)::int AS spend,
           COALESCE(sum(count) FILTER (WHERE kind = 'chat'), 0)::int AS chats, COALESCE(sum(images), 0)::int AS images
         FROM usage_rollups WHERE account_id LIKE $1 AND step = 'day' GROUP BY 1, 2 ORDER BY 1, 2`,
        [`%${this.run}`],
      );
      const ledger = await room.sql(
        `SELECT account_id, api_key_id, sum(spend)::int AS spend, sum(chats)::int AS chats, sum(images)::int AS images FROM (
           SELECT account_id, api_key_id, COALESCE(amount_micros, 0) AS spend, 0 AS chats, 0 AS images FROM charges WHERE kind = 'settle'
           UNION ALL SELECT account_id, api_key_id, COALESCE(cost_micros, 0), 1, 0 FROM chat_usage
           UNION ALL SELECT account_id, api_key_id, 0, 0, COALESCE(jsonb_array_length(images), 0) FROM tasks) AS rows
         WHERE account_id LIKE $1 GROUP BY 1, 2 HAVING count(*) > 0 ORDER BY 1, 2`,
        [`%${this.run}`],
      );
      // A key whose tasks were all taken back has charges, and used nothing.
      const used = (rows: unknown[]) => (rows as Record<string, unknown>[]).filter(isUsed);
      expect(used(figures.rows)).toEqual(used(ledger.rows));
      expect(days.rows).toEqual(figures.rows);
      for (const [dimension, column] of Object.entries({ key: 'api_key_id', model: 'model', provider: 'provider' })) {
        const ofAll = await room.sql(
          `SELECT account_id, step, time, ${column} AS name, currency, sum(images)::int AS images,
             COALESCE(sum(count) FILTER (WHERE kind = 'image' AND outcome = 'failed'), 0)::int AS failed,
             COALESCE(sum(count) FILTER (WHERE kind = 'chat'), 0)::int AS chats,
             COALESCE(sum(GREATEST(images, count)) FILTER (WHERE kind = 'image' AND currency = 'XXX'), 0)::int AS unpriced,
             sum(spend_micros)::int AS spend, sum(input_tokens)::int AS input, sum(output_tokens)::int AS output,
             sum(count) FILTER (WHERE usage_bucket(kind, outcome, bucket) >= 0)::int AS ended,
             sum(latency_ms) FILTER (WHERE usage_bucket(kind, outcome, bucket) >= 0)::int AS ms,
             count(DISTINCT usage_bucket(kind, outcome, bucket)) FILTER (WHERE usage_bucket(kind, outcome, bucket) >= 0)::int AS buckets
           FROM usage_rollups WHERE account_id LIKE $1 GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5`,
          [`%${this.run}`],
        );
        const grouped = await room.sql(
          `SELECT account_id, step, time, name, currency, images::int, failed::int, chats::int, unpriced_images::int AS unpriced,
             spend_micros::int AS spend, input_tokens::int AS input, output_tokens::int AS output, parts.ended, parts.ms, parts.buckets
           FROM grouped_usage, LATERAL (
             SELECT sum(split_part(part, ':', 2)::int)::int AS ended, sum(split_part(part, ':', 3)::int)::int AS ms, count(*)::int AS buckets
             FROM string_to_table(durations, ' ') AS part) AS parts
           WHERE account_id LIKE $1 AND dimension = $2 ORDER BY 1, 2, 3, 4, 5`,
          [`%${this.run}`, dimension],
        );
        expect(grouped.rows).toEqual(ofAll.rows);
      }
      const totals = await room.sql(
        `SELECT account_id, api_key_id, sum(amount_micros)::int AS spend FROM spend_totals WHERE account_id LIKE $1 GROUP BY 1, 2`,
        [`%${this.run}`],
      );
      const sum = (rows: unknown[]) => (rows as { spend: number }[]).reduce((total, { spend }) => total + spend, 0);
      expect(sum(totals.rows)).toBe(sum(ledger.rows));
    }

    /** Both processes at the same time. */
    async rollUp(): Promise<void> {
      const rollUps = processes.map(({ database }) => new RollUpUsage(new UsageRepository(database)));
      await Promise.all([...rollUps, ...rollUps].map((rollUp) => rollUp.run()));
      for (const rollUp of rollUps) await rollUp.run();
      const left = await room.sql('SELECT reference FROM usage_changes');
      expect(left.rows).toEqual([]);
    }

    /** Of an account without a budget, since the last chat may exceed one. */
    private async chat(database: PrismaService, costMicros: number | null): Promise<void> {
      const row = {
        request_id: newTaskId(),
        account_id: `c${this.run}`,
        api_key_id: `4${this.run}`,
        model: 'm',
        provider: 'p',
        provider_key: null,
        provider_model: 'm',
        streamed: false,
        status: 200,
        outcome: 'completed' as const,
        input_tokens: 1,
        output_tokens: 2,
        cached_tokens: null,
        first_byte_ms: 1,
        duration_ms: 2,
        created_at: new Date().toISOString(),
        cost_micros: costMicros,
        end_user: null,
        tags: null,
        refused_stage: null,
      };
      // A batch that may have arrived is sent once more.
      await Promise.all([1, 2].map(() => new ChatUsageRepository(database).add([row])));
    }

    private async submit(intake: TaskIntake, next: Step & { kind: 'submit' }): Promise<void> {
      const [account = '', key = ''] = next.caller.split(' ');
      const id = newTaskId();
      // Of two callers the processes do not know that they have budgets, so their tasks share statements that these refuse.
      const budgeted = next.caller !== 'a 1' && next.caller !== 'a free';
      const order = { id, accountId: account + this.run, apiKeyId: key + this.run, cost: next.cost, budgeted };
      try {
        const { task: created } = await intake.take(command(order), 900_000, this.identity(next));
        this.ids.push(created.id);
      } catch (error) {
        expect((error as AppError).code).toMatch(/^(insufficient_quota|model_not_allowed|idempotency_in_progress)$/);
      }
    }

    private identity({ mark: text, caller }: Step & { kind: 'submit' }): RequestIdentity | undefined {
      const [kind, name = ''] = text.split(' ');
      const fingerprint = Buffer.from(
        `${name} of ${kind === 'key' ? (caller[0] ?? '') : caller}${this.run}`.padEnd(32),
      );
      if (kind === 'key') return { kind: 'keyed', key: name, fingerprint };
      return kind === 'retry' ? { kind: 'unkeyed', retry: 1, counted: true, fingerprint } : undefined;
    }

    private async set(index: number): Promise<void> {
      const [name, owner, period, limit] = OWNERS[index] as (typeof OWNERS)[number];
      await new BudgetRepository(room.database).set({ ownerId: name + this.run, owner }, { limit, period });
    }
  }

  it(
    'H5: adds up, and no budget is exceeded, whatever happens at the same time',
    async () => {
      await fc.assert(
        fc.asyncProperty(course, async (batches) => {
          const world = new World();
          await world.open();
          for (const batch of batches) {
            await Promise.all([world.check(), ...batch.map((next) => world.step(next))]);
            await world.check();
          }
          await world.close();
          await world.check();
          await world.checkEnds();
          await world.rollUp();
          await world.checkUsage();
        }),
        runs(40),
      );
    },
    PROPERTY_TIMEOUT_MS,
  );

  /** What a task settles whose provider reported this usage. */
  async function settledFor(price: (typeof PRICES)[number], { usage, svg_usage: svg }: SaidUsage): Promise<Settled> {
    const model = modelOf(BOOK, 'image', price.name);
    if (model === undefined) throw new Error('no such model');
    const asked = { pixels: { width: 1024, height: 1024 }, resolution: null, quality: null };
    const order = quoteImage(BOOK, model, asked, new Date());
    const [{ database, intake, transitions }] = processes as [(typeof processes)[number]];
    const { task: created } = await intake.take(
      command({ id: newTaskId(), accountId: 'acct_tokens', apiKeyId: 'key_tokens', cost: order }),
      900_000,
    );
    const { attempt = 0 } = (await transitions.claim(created.id, 'worker', 20_000)) ?? {};
    const result = { images: [IMAGE], usage: tokenUsage(usage, svg), warnings: [] };
    const ended = await transitions.complete({ id: created.id, attempt }, result);
    const { rows } = await database.pool.query<Settled>(
      `SELECT reserve.amount_micros AS reserved, settle.amount_micros AS settled, settle.token_costs AS costs, cost -> 'tokenCosts' AS shown
       FROM charges AS settle JOIN charges AS reserve USING (task_id) JOIN tasks ON id = task_id
       WHERE task_id = $1 AND settle.kind = 'settle' AND reserve.kind = 'reserve'`,
      [created.id],
    );
    expect([ended === undefined, rows.length]).toEqual([false, 1]);
    return rows[0] as Settled;
  }

  it.each(PRICES.map((price) => [price.name, price] as const))(
    'bills every usage that servers report to the millionth, and never more than was quoted: %s',
    async (_name, price) => {
      expect(USAGES.length).toBeGreaterThanOrEqual(100);
      for (const said of USAGES) {
        const { reserved: quoted, settled, costs, shown } = await settledFor(price, said);
        const most = price.most === undefined ? null : microsOf(price.most);
        const byHand = said.tokens && dueForTokens(said.tokens, price.perMillion);
        const due = byHand === null || (most !== null && byHand > most) ? most : byHand;
        expect([said.name, settled, quoted]).toEqual([said.name, due?.toString() ?? null, most?.toString() ?? null]);
        expect([said.name, shown]).toEqual([said.name, costs]);
        if (said.tokens === null || byHand === null) expect([said.name, costs]).toEqual([said.name, null]);
        else {
          const amounts = Object.entries(costs ?? {}) as [TokenClass, { tokens: number; amount: number }][];
          expect([said.name, amounts.reduce((sum, [, { amount }]) => sum + BigInt(amount), 0n)]).toEqual([
            said.name,
            byHand,
          ]);
          for (const [name, { tokens, amount }] of amounts) {
            const off = BigInt(amount) * MILLION - BigInt(tokens) * microsOf(price.perMillion[name]);
            expect([said.name, name, off > -MILLION && off < MILLION]).toEqual([said.name, name, true]);
          }
          if (price.isByClass) {
            const found = Object.fromEntries(amounts.map(([name, { tokens }]) => [name, tokens]));
            expect([said.name, found]).toEqual([said.name, said.tokens]);
          }
        }
      }
    },
    PROPERTY_TIMEOUT_MS,
  );
});
