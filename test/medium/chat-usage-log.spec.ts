import { PrismaService } from '#database/prisma.service.js';
import { BudgetRepository } from '#billing/budget.repository.js';
import { ChatUsageRepository, type ChatUsageRow } from '#billing/chat-usage.repository.js';
import { waitUntil } from '#embedded/wait-until.js';
import { Logger } from '#telemetry/logger.js';
import { Metrics } from '#telemetry/metrics.js';
import { ChatUsageLog } from '../../apps/api/src/chat/chat-usage-log.js';
import { openTaskRoom, type TaskRoom } from '../support/task-room.js';

const row = (n: number): ChatUsageRow => ({
  request_id: `req_${n}`,
  account_id: 'acct_default',
  api_key_id: 'key_1',
  model: 'gpt-5.5',
  provider: 'up',
  provider_key: null,
  provider_model: 'gpt-5.5',
  streamed: n % 2 === 0,
  status: 200,
  outcome: 'completed',
  input_tokens: n,
  output_tokens: null,
  cached_tokens: 0,
  first_byte_ms: 3,
  duration_ms: 4,
  created_at: new Date(n).toISOString(),
  cost_micros: 3,
  end_user: null,
  tags: null,
  refused_stage: null,
});

describe('ChatUsageLog', () => {
  let room: TaskRoom;
  const lines: string[] = [];
  const logger = new Logger('test', 'debug', { write: (line: string) => lines.push(line) });
  beforeAll(async () => {
    room = await openTaskRoom();
  });
  afterAll(() => room.close());

  const count = async (): Promise<number> => {
    const rows = (await room.sql('SELECT count(*)::int AS count FROM chat_usage')) as { rows: { count: number }[] };
    return rows.rows[0]?.count ?? 0;
  };

  it('writes many rows, each once, counts them into budgets, and writes what is left when it is closed', async () => {
    const budget = { limit: 1_000_000, period: 'total' } as const;
    const budgets = new BudgetRepository(room.database);
    await budgets.set({ ownerId: 'key_1', owner: 'key' }, budget);
    await budgets.set({ ownerId: 'acct_default', owner: 'account' }, { ...budget, period: 'month' });
    const log = new ChatUsageLog(new ChatUsageRepository(room.database), logger, new Metrics());
    for (let n = 0; n < 1_200; n++) log.record(row(n));
    log.record(row(7));
    expect(await waitUntil(async () => (await count()) === 1_200, { timeoutMs: 40_000 })).toBe(true);
    log.record(row(5_000));
    await log.onApplicationShutdown();
    expect(await count()).toBe(1_201);
    const { rows } = await room.sql(`SELECT * FROM chat_usage WHERE request_id = 'req_7'`);
    expect(await budgets.find(['key_1'])).toMatchObject([{ spent: 3 * 1_201 }]);
    // All of them were over long before this month.
    expect(await budgets.find(['acct_default'])).toMatchObject([{ spent: 0 }]);
    expect(rows[0]).toMatchObject({ input_tokens: 7, output_tokens: null, streamed: false, created_at: new Date(7) });
  });

  it('keeps rows while the database is away, no more than fit, and says what is lost', async () => {
    const away = new PrismaService(
      { databaseUrl: 'postgresql://x@127.0.0.1:1/x', databasePool: 1, connectTimeoutMs: 500, queryTimeoutMs: 500 },
      logger,
    );
    const log = new ChatUsageLog(new ChatUsageRepository(away), logger, new Metrics());
    for (let n = 0; n < 20_010; n++) log.record(row(n));
    await log.onApplicationShutdown();
    await away.close();
    const lost = lines.map((line) => JSON.parse(line) as { event: string; count?: number });
    expect(lost.filter(({ event }) => event === 'chat.usage_lost').map(({ count: rows }) => rows)).toEqual([
      10, 20_000,
    ]);
    expect(lost.some(({ event }) => event === 'chat.usage_not_written')).toBe(true);
  });
});
