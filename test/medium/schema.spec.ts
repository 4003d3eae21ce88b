import { Prisma } from '#database/generated/client.js';
import { openTaskRoom, type TaskRoom } from '../support/task-room.js';

const snakeCase = (field: string): string => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Migrations are written by hand, so Prisma's schema is compared with the real tables. */
describe('the migrated database and schema.prisma', () => {
  let room: TaskRoom;
  beforeAll(async () => {
    room = await openTaskRoom();
  });
  afterAll(() => room.close());

  it.each([
    ['accounts', Prisma.AccountScalarFieldEnum],
    ['api_keys', Prisma.ApiKeyScalarFieldEnum],
    ['oauth_tokens', Prisma.OAuthTokenScalarFieldEnum],
    ['tasks', Prisma.TaskScalarFieldEnum],
    ['task_erasures', Prisma.TaskErasureScalarFieldEnum],
    ['erasures', Prisma.ErasureScalarFieldEnum],
    ['task_labels', Prisma.TaskLabelScalarFieldEnum],
    ['end_user_secrets', Prisma.EndUserSecretScalarFieldEnum],
    ['end_user_states', Prisma.EndUserStateScalarFieldEnum],
    ['label_limits', Prisma.LabelLimitScalarFieldEnum],
    ['end_user_refusals', Prisma.EndUserRefusalScalarFieldEnum],
    ['safety_notices', Prisma.SafetyNoticeScalarFieldEnum],
    ['labeled_usage', Prisma.LabeledUsageScalarFieldEnum],
    ['idempotency_keys', Prisma.IdempotencyKeyScalarFieldEnum],
    ['uploads', Prisma.UploadScalarFieldEnum],
    ['batches', Prisma.BatchScalarFieldEnum],
    ['batch_lines', Prisma.BatchLineScalarFieldEnum],
    ['stored_inputs', Prisma.StoredInputsScalarFieldEnum],
    ['webhook_endpoints', Prisma.WebhookEndpointScalarFieldEnum],
    ['webhook_secrets', Prisma.WebhookSecretScalarFieldEnum],
    ['webhook_deliveries', Prisma.WebhookDeliveryScalarFieldEnum],
    ['webhook_attempts', Prisma.WebhookAttemptScalarFieldEnum],
    ['chat_usage', Prisma.ChatUsageScalarFieldEnum],
    ['stored_responses', Prisma.StoredResponseScalarFieldEnum],
    ['task_reserves', Prisma.TaskReserveScalarFieldEnum],
    ['provider_switches', Prisma.ProviderSwitchScalarFieldEnum],
    ['catalog_revisions', Prisma.CatalogRevisionScalarFieldEnum],
    ['provider_keys', Prisma.ProviderKeyScalarFieldEnum],
    ['charges', Prisma.ChargeScalarFieldEnum],
    ['budgets', Prisma.BudgetScalarFieldEnum],
    ['usage_changes', Prisma.UsageChangeScalarFieldEnum],
    ['usage_rollups', Prisma.UsageRollupScalarFieldEnum],
    ['grouped_usage', Prisma.GroupedUsageScalarFieldEnum],
    ['spend_totals', Prisma.SpendTotalScalarFieldEnum],
    ['people', Prisma.PersonScalarFieldEnum],
    ['second_factors', Prisma.SecondFactorScalarFieldEnum],
    ['recovery_codes', Prisma.RecoveryCodeScalarFieldEnum],
    ['passkeys', Prisma.PasskeyScalarFieldEnum],
    ['used_passkey_challenges', Prisma.UsedPasskeyChallengeScalarFieldEnum],
    ['sessions', Prisma.SessionScalarFieldEnum],
    ['sign_in_links', Prisma.SignInLinkScalarFieldEnum],
    ['refused_calls', Prisma.RefusedCallsScalarFieldEnum],
    ['audit_log', Prisma.AuditEntryScalarFieldEnum],
    ['alert_rules', Prisma.AlertRuleScalarFieldEnum],
    ['alert_events', Prisma.AlertEventScalarFieldEnum],
  ])('%s has the same columns in both', async (table, fields) => {
    const { rows } = await room.sql(
      `SELECT column_name FROM information_schema.columns WHERE table_schema = 'public' AND table_name = $1`,
      [table],
    );
    const columns = rows.map((row) => (row as { column_name: string }).column_name);
    const mapped = Object.keys(fields).map(snakeCase);
    expect(columns.sort()).toEqual(mapped.sort());
  });

  it('holds no table that the schema does not know', async () => {
    const { rows } = await room.sql(`SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`);
    const tables = rows.map((row) => (row as { tablename: string }).tablename);
    expect(tables).toEqual([
      ...[
        '_prisma_migrations',
        'accounts',
        'alert_events',
        'alert_rules',
        'api_keys',
        'audit_log',
        'batch_lines',
        'batches',
        'budgets',
        'catalog_revisions',
        'charges',
        'chat_reserves',
        'chat_usage',
        'end_user_refusals',
        'end_user_secrets',
        'end_user_states',
        'erasures',
      ],
      ...[
        'grouped_usage',
        'idempotency_keys',
        'label_limits',
        'labeled_usage',
        'oauth_tokens',
        'passkeys',
        'people',
        'provider_keys',
        'provider_switches',
        'recovery_codes',
        'refused_calls',
        'safety_notices',
        'second_factors',
        'sessions',
        'sign_in_links',
        'spend_totals',
        'stored_inputs',
        'stored_responses',
        'task_erasures',
        'task_labels',
        'task_reserves',
        'tasks',
      ],
      ...['uploads', 'usage_changes', 'usage_rollups', 'used_passkey_challenges'],
      ...['webhook_attempts', 'webhook_deliveries', 'webhook_endpoints', 'webhook_secrets'],
    ]);
  });

  it('can be read by Prisma, every column of every table', async () => {
    expect(await room.database.account.findMany()).toMatchObject([{ id: 'acct_default' }]);
    expect(await room.database.apiKey.findMany()).toHaveLength(1);
    expect(await room.database.task.findMany()).toEqual([]);
    expect(await room.database.idempotencyKey.findMany()).toEqual([]);
    expect(await room.database.upload.findMany()).toEqual([]);
    expect(await room.database.charge.findMany()).toEqual([]);
    expect(await room.database.taskReserve.findMany()).toEqual([]);
    expect(await room.database.budget.findMany()).toEqual([]);
    const kept = { sessions: true, secondFactor: true, recoveryCodes: true, passkeys: true };
    expect(await room.database.person.findMany({ include: kept })).toEqual([]);
    expect(await room.database.usedPasskeyChallenge.findMany()).toEqual([]);
    expect(await room.database.signInLink.findMany()).toEqual([]);
    expect(await room.database.auditEntry.findMany()).toEqual([]);
    expect(await room.database.refusedCalls.findMany()).toEqual([]);
    expect(await room.database.webhookEndpoint.findMany()).toEqual([]);
    expect(await room.database.webhookSecret.findMany()).toEqual([]);
    expect(await room.database.providerSwitch.findMany()).toEqual([]);
    expect(await room.database.webhookDelivery.findMany({ include: { log: true } })).toEqual([]);
  });
});
