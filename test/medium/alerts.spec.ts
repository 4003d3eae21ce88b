import pg from 'pg';
import { BudgetRepository } from '#billing/budget.repository.js';
import { AlertEventRepository } from '#notifications/alerts/alert-event.repository.js';
import { AlertRuleRepository, type AlertRule } from '#notifications/alerts/alert-rule.repository.js';
import { ALERTS } from '#notifications/alerts/alert-settings.js';
import type { PrismaService } from '#database/prisma.service.js';
import { NewDeliveries } from '#notifications/deliveries/new-deliveries.js';
import { EndpointStore } from '#notifications/endpoint-store.js';
import { WebhooksConfig } from '#notifications/webhooks.config.js';
import { Logger } from '#telemetry/logger.js';
import { AlertReadings } from '../../apps/worker/src/alerts/alert-readings.js';
import { EvaluateAlerts } from '../../apps/worker/src/alerts/evaluate-alerts.js';
import { waitForLockWait } from '../support/lock-waits.js';
import { openPrisma } from '../support/open-prisma.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres.js';

const RULE: AlertRule = {
  accountId: 'acct_default',
  kind: 'budget',
  enabled: true,
  channelIds: [],
  ...ALERTS.budget.defaults,
};
const READING = {
  subject: 'account',
  name: 'This account',
  value: 95,
  title: 'This account has used 95% of its budget',
  what: '9.50 USD of 10.00 USD is spent.',
  advice: 'Raise it.',
  path: '/console/usage',
};

// Real: Postgres.
describe('alerts', () => {
  let testDatabase: TestDatabase;
  let prisma: PrismaService;
  let rules: AlertRuleRepository;
  let events: AlertEventRepository;

  beforeAll(async () => {
    testDatabase = await createTestDatabase();
    prisma = openPrisma(testDatabase.url);
    rules = new AlertRuleRepository(prisma);
    events = new AlertEventRepository(
      prisma,
      new NewDeliveries(prisma, new EndpointStore(prisma, new WebhooksConfig())),
    );
  });
  afterAll(async () => {
    await prisma.close();
    await testDatabase.drop();
  });

  it('do not begin when their rule was turned off while it was held against what is there', async () => {
    await rules.save(RULE);
    expect(await events.begin(RULE, READING, new Date())).toMatchObject({ subject: 'account', state: 'pending' });
    // In the order in which a rule is turned off.
    await rules.save({ ...RULE, enabled: false });
    await events.close(RULE.accountId, RULE.kind);
    expect(await events.begin(RULE, READING, new Date())).toBeUndefined();
    expect(await events.open(RULE)).toEqual([]);
  });

  it('do not begin for what is over by the time their evaluation has looked at those that are open', async () => {
    await rules.save(RULE);
    const pool = new pg.Pool({ connectionString: testDatabase.url, max: 2 });
    const spend = (share: number) =>
      pool.query(
        `INSERT INTO budgets (owner_id, owner, limit_micros, period, spent_micros, period_start)
         VALUES ('acct_default', 'account', 100, 'total', $1, now()) ON CONFLICT (owner_id) DO UPDATE SET spent_micros = $1`,
        [share],
      );
    // All that a rule of budgets reads; and nothing is sent.
    const parts = [new BudgetRepository(prisma), { current: { currency: 'USD' } }];
    const readings = new AlertReadings(...(parts as unknown as ConstructorParameters<typeof AlertReadings>));
    const evaluation = new EvaluateAlerts(rules, events, readings, undefined as never, new Logger('test', 'silent'));
    await spend(95);
    const hold = await pool.connect();
    try {
      await hold.query('BEGIN');
      await hold.query('LOCK TABLE alert_events IN ACCESS EXCLUSIVE MODE');
      const evaluated = evaluation.runNow(RULE.accountId, RULE.kind);
      await waitForLockWait(pool);
      await spend(10);
      await hold.query('COMMIT');
      await evaluated;
    } finally {
      hold.release();
      await pool.end();
    }
    expect(await events.open(RULE)).toEqual([]);
  });
});
