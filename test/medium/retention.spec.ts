import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ulid } from 'ulid';
import { Readable } from 'node:stream';
import { loadConfig } from '#config/load-config.js';
import { ChatReserves } from '#billing/chat-reserves.js';
import { AuditLog } from '#accounts/audit-log.js';
import { AlertEventRepository } from '#notifications/alerts/alert-event.repository.js';
import { BudgetRepository } from '#billing/budget.repository.js';
import { ChargeRepository } from '#billing/charge.repository.js';
import { ExpireChatUsage } from '#billing/expire-chat-usage.js';
import { ExpireLedger, USAGE_DAY_DAYS, USAGE_HOUR_DAYS } from '#billing/expire-ledger.js';
import { RollUpUsage } from '#billing/roll-up-usage.js';
import { UsageRepository } from '#billing/usage.repository.js';
import { ChatUsageRepository } from '#billing/chat-usage.repository.js';
import { StoredResponses } from '#routing/stored-responses.js';
import { ExpireSignIns } from '#accounts/expire-sign-ins.js';
import { DiskStore } from '#storage/disk-store.js';
import { inputKey, resultKey, uploadKey } from '#storage/object-key.js';
import { ExpireIdempotencyKeys } from '#tasks/retention/expire-idempotency-keys.js';
import { ExpireTasks } from '#tasks/retention/expire-tasks.js';
import { FailedTasks } from '#tasks/reading/failed-tasks.js';
import { HeldTasks } from '#tasks/reading/held-tasks.js';
import { newUploadId } from '#tasks/row/task-id.js';
import { TaskObjects } from '#tasks/retention/task-objects.js';
import { TasksConfig } from '#tasks/row/tasks.config.js';
import { ExpireUploads } from '#uploads/expire-uploads.js';
import { UploadRepository } from '#uploads/upload.repository.js';
import { CollectOrphans } from '#uploads/collect-orphans.js';
import { NewDeliveries } from '#notifications/deliveries/new-deliveries.js';
import { EndpointStore } from '#notifications/endpoint-store.js';
import { WebhooksConfig } from '#notifications/webhooks.config.js';
import { allTasksOf } from '#tasks/row/task.js';
import { WorkerConfig } from '../../apps/worker/src/worker.config.js';
import { command, openTaskRoom, TEST_ACCOUNT, type TaskRoom } from '../support/task-room.js';

const DEADLINE_MS = 900_000;
const DAY_MS = 24 * 3_600_000;
/** The defaults. */
const KEPT = { imageRetentionHours: 72, taskRetentionHours: 168 };

describe('retention', () => {
  let room: TaskRoom;
  let folder: string;
  let store: DiskStore;
  beforeEach(async () => {
    room = await openTaskRoom();
    folder = await mkdtemp(join(tmpdir(), 'darkroom-retention-'));
    store = new DiskStore(folder);
  });
  afterEach(async () => {
    await room.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** A completed task with one upload and one image in the store. */
  async function completed(): Promise<{ id: string; input: string; result: string }> {
    const wanted = command();
    const input = inputKey(wanted.id, 0);
    await room.inserts.insert(
      { ...wanted, inputs: [{ kind: 'object', key: input, bytes: 1, param: 'image' }] },
      DEADLINE_MS,
    );
    const claim = await room.transitions.claim(wanted.id, 'worker', 20_000);
    const attempt = claim?.attempt ?? 0;
    const result = resultKey(wanted.id, attempt, 'png');
    for (const key of [input, result]) await put(key);
    const image = { key: result, contentType: 'image/png', width: 1, height: 1, bytes: 1, sha256: '00' };
    await room.transitions.complete({ id: wanted.id, attempt }, { images: [image], usage: undefined, warnings: [] });
    return { id: wanted.id, input, result };
  }

  async function put(key: string): Promise<void> {
    await store.put(key, Readable.from(['x']), { contentType: 'image/png' });
  }

  async function stored(): Promise<string[]> {
    const keys: string[] = [];
    for (const prefix of ['inputs/', 'results/', 'uploads/'])
      for await (const key of store.list(prefix)) keys.push(key);
    return keys.sort();
  }

  function orphanCollector(): CollectOrphans {
    const tasks = new TaskObjects(room.database);
    const uploads = new UploadRepository(room.database);
    return new CollectOrphans(store, tasks, uploads, room.logger);
  }

  async function finishedHoursAgo(id: string, hours: number): Promise<void> {
    await room.sql(`UPDATE tasks SET finished_at = now() - $2 * interval '1 hour' WHERE id = $1`, [id, hours]);
  }

  it('tells since when the oldest image and row should be gone, and nothing before they should', async () => {
    const config = { imageRetentionHours: 24, taskRetentionHours: 48 };
    const expire = new ExpireTasks(room.database, store, room.logger);
    const { id } = await completed();
    await finishedHoursAgo(id, 23);
    expect(await expire.imagesDueSince(config)).toBeUndefined();
    await finishedHoursAgo(id, 50);
    const hours = (since: Date | undefined) => Math.round((Date.now() - (since?.getTime() ?? NaN)) / 3_600_000);
    expect(hours(await expire.imagesDueSince(config))).toBe(26);
    expect(hours(await expire.rowsDueSince(config, 24))).toBe(2);
    expect(await expire.rowsDueSince(config, 72)).toBeUndefined();
    await expire.run(config);
    expect(await expire.imagesDueSince(config)).toBeUndefined();
    expect(await expire.rowsDueSince(config, 24)).toBeUndefined();
  });

  it('tells since when the oldest of what is kept for years or hours should be gone', async () => {
    const [config] = loadConfig([WorkerConfig], {});
    const { chargeRetentionDays, auditLogRetentionDays } = config;
    const ledger = new ExpireLedger(
      new ChargeRepository(room.database),
      new UsageRepository(room.database),
      room.logger,
    );
    const audit = new AuditLog(room.database);
    const alerts = new AlertEventRepository(
      room.database,
      new NewDeliveries(room.database, new EndpointStore(room.database, loadConfig([WebhooksConfig], {})[0])),
    );
    const keys = new ExpireIdempotencyKeys(room.database, room.logger);
    const signIns = new ExpireSignIns(room.database, room.logger);
    const dueSince = () =>
      Promise.all([
        ...[ledger.chargesDueSince(config), ledger.usageDueSince('hour'), ledger.usageDueSince('day')],
        ...[audit.dueSince(config), alerts.dueSince(config)],
        ...[keys.dueSince(), signIns.dueSince()],
      ]);
    const add = async (daysTooOld: number) => {
      const id = (prefix: string, days: number) => `${prefix}_${ulid(Date.now() - (days + daysTooOld) * DAY_MS)}`;
      await room.sql(`INSERT INTO charges VALUES ($1, 'reserve', 5, 'USD', 'acct_default', 'key', 'm', now())`, [
        id('task', chargeRetentionDays),
      ]);
      await room.sql(
        `INSERT INTO usage_rollups SELECT 'acct_default', step, now() - (days + $1) * interval '1 day', 'image', 'key', 'm', 'p',
           'completed', 'USD', 1, 1, 1, 1, 1, 1, 1 FROM (VALUES ('hour', $2::int), ('day', $3::int)) AS steps (step, days)`,
        [daysTooOld, USAGE_HOUR_DAYS, USAGE_DAY_DAYS],
      );
      await room.sql(`INSERT INTO audit_log (id, account_id, action) VALUES ($1, 'acct_default', 'x')`, [
        id('audit', auditLogRetentionDays),
      ]);
      await room.sql(
        `INSERT INTO alert_events (id, account_id, kind, subject, name, state, level, title, text, path, started_at, clear_minutes, resolved_at)
         VALUES ($1, 'acct_default', 'budget', 'x', 'x', 'resolved', 1, 'x', 'x', '/', now(), 1, now())`,
        [id('ale', auditLogRetentionDays)],
      );
      await room.sql(
        `INSERT INTO idempotency_keys VALUES ('acct_default', $1, '\\x00', 'task', now(), now() - $2 * interval '1 day')`,
        [id('key', 0), daysTooOld],
      );
      await room.sql(
        `INSERT INTO people (id, account_id, email, name, role) VALUES ('person_1', 'acct_default', 'a@b.example', 'a', 'member')
         ON CONFLICT DO NOTHING`,
      );
      // Used for the last time so long ago that it ended as many days ago.
      await room.sql(
        `INSERT INTO sessions (id, person_id, token_hash, secret_id, user_agent, last_seen_at, expires_at)
         VALUES ($1, 'person_1', sha256(convert_to($1, 'UTF8')), 'test', 'x', now() - interval '12 hours' - $2 * interval '1 day', now() + interval '9 days')`,
        [id('session', 0), daysTooOld],
      );
    };
    await add(-1);
    expect(await dueSince()).toEqual(Array.from({ length: 7 }, () => undefined));
    await add(2);
    const days = (await dueSince()).map((since) => Math.round((Date.now() - (since?.getTime() ?? NaN)) / DAY_MS));
    expect(days).toEqual([2, 2, 2, 2, 2, 2, 2]);
  });

  it('leaves objects without a row alone for a day', async () => {
    const now = Date.now();
    await put(`results/task_${ulid(now)}-1.png`);
    expect(await orphanCollector().run(now)).toBe(0);
    expect(await orphanCollector().run(now + 23 * 3_600_000)).toBe(0);
    expect(await orphanCollector().run(now + 25 * 3_600_000)).toBe(1);
    expect(await stored()).toEqual([]);
  });

  it('removes what chats have used after its days, and nothing before', async () => {
    const [config] = loadConfig([WorkerConfig], { CHAT_USAGE_RETENTION_DAYS: '31' });
    await room.sql(`INSERT INTO chat_usage SELECT 'req_' || age, 'acct_default', 'key', 'm', 'p', NULL, 'm', false, 200,
      'completed', 1, 1, 0, 1, 1, now() - age * interval '1 hour', 1 FROM generate_series(1, 2000) age`);
    const usage = new ChatUsageRepository(room.database);
    await new ExpireChatUsage(new ChatReserves(room.database), usage, room.logger).run(config);
    const { rows } = await room.sql('SELECT count(*)::int AS count FROM chat_usage');
    expect(rows).toEqual([{ count: 31 * 24 - 1 }]);
  });

  it('O6: removes charges, usage and audit entries after their days, and never what was spent', async () => {
    const [config] = loadConfig([WorkerConfig], {});
    const charges = new ChargeRepository(room.database);
    const usage = new UsageRepository(room.database);
    const expire = new ExpireLedger(charges, usage, room.logger);
    const days = { charges: config.chargeRetentionDays, audit: config.auditLogRetentionDays };
    const ageOf = (daysOld: number): string => ulid(Date.now() - daysOld * DAY_MS);
    // One moment for all, so that they are of the same hours and days.
    const now = new Date();
    for (const age of [days.charges - 1, days.charges + 1]) {
      await room.sql(
        `INSERT INTO charges (task_id, kind, amount_micros, currency, account_id, api_key_id, model, created_at)
         SELECT $1, kind, 5, 'USD', 'acct_kept', 'key', 'm', now() - $2 * interval '1 day' FROM unnest('{reserve,settle}'::text[]) AS kind`,
        [`task_${ageOf(age)}`, age],
      );
      await room.sql(
        `INSERT INTO usage_changes (reference, kind, account_id, api_key_id, model, provider, outcome, currency, created_at, images,
           spend_micros, input_tokens, output_tokens) SELECT 't', 'image', 'acct_kept', 'key', 'm', 'p', 'completed', 'USD',
           $2::timestamptz - age * interval '1 day', 1, 5, 0, 0 FROM unnest($1::int[]) AS age`,
        [[USAGE_HOUR_DAYS - 2, USAGE_DAY_DAYS - 2, USAGE_DAY_DAYS + 2], now],
      );
    }
    for (const age of [days.audit - 1, days.audit + 1]) {
      await room.sql(`INSERT INTO audit_log (id, account_id, action) VALUES ($1, 'acct_kept', 'x')`, [
        `audit_${ageOf(age)}`,
      ]);
    }
    await new RollUpUsage(usage).run();
    const spent = () => new BudgetRepository(room.database).spentByKey('acct_kept', 'USD');
    expect(await spent()).toEqual(new Map([['key', 30]]));
    await expire.run(config);
    await new AuditLog(room.database).expire(config);
    expect((await room.sql(`SELECT 1 FROM charges WHERE account_id = 'acct_kept'`)).rows).toHaveLength(2);
    const rollups = await room.sql(`SELECT step FROM usage_rollups WHERE account_id = 'acct_kept' ORDER BY step, time`);
    expect(rollups.rows.map((row) => (row as { step: string }).step)).toEqual(['day', 'day', 'hour']);
    const byModel = await room.sql(
      `SELECT step FROM grouped_usage WHERE account_id = 'acct_kept' AND dimension = 'model' ORDER BY step, time`,
    );
    expect(byModel.rows).toEqual(rollups.rows);
    expect((await room.sql(`SELECT 1 FROM audit_log WHERE account_id = 'acct_kept'`)).rows).toHaveLength(1);
    expect(await spent()).toEqual(new Map([['key', 30]]));
  });

  it('O6: collects what a check of the store left behind', async () => {
    await put(`checks/check_${ulid()}`);
    const orphans = orphanCollector();
    expect(await orphans.run(Date.now())).toBe(0);
    expect(await orphans.run(Date.now() + 2 * DAY_MS)).toBe(1);
  });

  it('removes one-time links and sessions that are over, and nothing that still works', async () => {
    await room.sql(`INSERT INTO people (id, account_id, email, name, role)
      VALUES ('person_1', '${TEST_ACCOUNT}', 'ada@example.org', 'Ada', 'admin')`);
    const link = (id: string, expires: string, used = 'NULL'): Promise<unknown> =>
      room.sql(`INSERT INTO sign_in_links (id, token_hash, secret_id, purpose, account_id, role, expires_at, used_at)
        VALUES ('${id}', '${id}', 'test', 'first_admin', '${TEST_ACCOUNT}', 'admin', now() + interval '${expires}', ${used})`);
    await link('open', '1 minute');
    await link('used', '1 minute', 'now()');
    await link('over', '-1 minute');
    await link('used and over', '-1 minute', 'now()');
    const session = (id: string, expires: string, seen: string): Promise<unknown> =>
      room.sql(`INSERT INTO sessions (id, person_id, token_hash, secret_id, user_agent, expires_at, last_seen_at)
        VALUES ('${id}', 'person_1', '${id}', 'test', '', now() + interval '${expires}', now() - interval '${seen}')`);
    await session('alive', '1 minute', '11 hours 59 minutes');
    await session('idle', '1 day', '12 hours 1 minute');
    await session('too old', '-1 minute', '0 minutes');
    // More than one batch.
    await room.sql(`INSERT INTO sessions (id, person_id, token_hash, secret_id, user_agent, expires_at)
      SELECT 'old ' || n, 'person_1', convert_to('old ' || n, 'UTF8'), 'test', '', now() - n * interval '1 minute'
      FROM generate_series(1, 1500) n`);
    await room.sql(`INSERT INTO used_passkey_challenges (challenge, expires_at)
      VALUES ('fresh', now() + interval '1 minute'), ('over', now() - interval '1 minute')`);
    await new ExpireSignIns(room.database, room.logger).run();
    expect((await room.sql('SELECT challenge FROM used_passkey_challenges')).rows).toEqual([{ challenge: 'fresh' }]);
    expect((await room.sql('SELECT id FROM sign_in_links ORDER BY id')).rows).toEqual([{ id: 'open' }, { id: 'used' }]);
    expect((await room.sql('SELECT id FROM sessions')).rows).toEqual([{ id: 'alive' }]);
  });

  it('removes tokens of clients that are over, and ends the keys that have none left', async () => {
    const key = (id: string, client: string): Promise<unknown> =>
      room.sql(`INSERT INTO api_keys (id, account_id, name, prefix, hash, secret_id, oauth_client)
        VALUES ('${id}', '${TEST_ACCOUNT}', '${id}', '', '${id}', 'test', ${client})`);
    const token = (hash: string, keyId: string, expires: string): Promise<unknown> =>
      room.sql(`INSERT INTO oauth_tokens (hash, secret_id, kind, key_id, client_hash, expires_at)
        VALUES ('${hash}', 'test', 'refresh', '${keyId}', 'x', now() + interval '${expires}')`);
    await key('in use', `'Agent'`);
    await token('fresh', 'in use', '1 minute');
    await token('spent', 'in use', '-1 minute');
    await key('forgotten', `'Agent'`);
    await token('over', 'forgotten', '-2 minutes');
    await key('with a secret', 'NULL');
    const expire = new ExpireSignIns(room.database, room.logger);
    expect(((await expire.dueSince())?.getTime() ?? Infinity) < Date.now() - 60_000).toBe(true);
    await expire.run();
    expect((await room.sql(`SELECT convert_from(hash, 'UTF8') AS hash FROM oauth_tokens`)).rows).toEqual([
      { hash: 'fresh' },
    ]);
    const ended = `SELECT id FROM api_keys WHERE revoked_at IS NOT NULL`;
    expect((await room.sql(ended)).rows).toEqual([{ id: 'forgotten' }]);
    expect(await expire.dueSince()).toBeUndefined();
  });

  it('leaves favorites alone until they are none', async () => {
    const expire = new ExpireTasks(room.database, store, room.logger);
    const favorite = await completed();
    const other = await completed();
    for (const { id } of [favorite, other]) await finishedHoursAgo(id, 169);
    await room.store.setFavorite(allTasksOf(TEST_ACCOUNT), favorite.id, true);
    await expire.run(KEPT);
    await expire.run(KEPT);
    expect(await stored()).toEqual([favorite.input, favorite.result].sort());
    expect((await room.sql('SELECT id FROM tasks')).rows).toEqual([{ id: favorite.id }]);
    expect([await expire.imagesDueSince(KEPT), await expire.rowsDueSince(KEPT, 24)]).toEqual([undefined, undefined]);
    await room.store.setFavorite(allTasksOf(TEST_ACCOUNT), favorite.id, false);
    await expire.run(KEPT);
    expect(await stored()).toEqual([]);
    expect((await room.sql('SELECT id FROM tasks')).rows).toEqual([]);
  });

  it('leaves a task alone while its webhooks are tried', async () => {
    const expire = new ExpireTasks(room.database, store, room.logger);
    const told = await completed();
    const other = await completed();
    for (const { id } of [told, other]) await finishedHoursAgo(id, 169);
    await room.sql(
      `INSERT INTO webhook_deliveries (id, account_id, task_id, event, state, next_try_at) VALUES
        ('pending', $1, $2, 'image.completed', 'pending', now()), ('ended', $1, $3, 'image.completed', 'failed', NULL)`,
      [TEST_ACCOUNT, told.id, other.id],
    );
    await expire.run(KEPT);
    expect((await room.sql('SELECT id FROM tasks')).rows).toEqual([{ id: told.id }]);
    expect(await expire.rowsDueSince(KEPT, 24)).toBeUndefined();
    await room.sql(
      `UPDATE webhook_deliveries SET state = 'delivered', next_try_at = NULL, ended_at = now() WHERE id = 'pending'`,
    );
    // It has just become due, which is not late.
    expect(await expire.rowsDueSince(KEPT, 24)).toBeUndefined();
    await room.sql(`UPDATE webhook_deliveries SET ended_at = now() - interval '61 minutes'`);
    expect(await expire.rowsDueSince(KEPT, 24)).toBeInstanceOf(Date);
    await expire.run(KEPT);
    expect((await room.sql('SELECT id FROM tasks')).rows).toEqual([]);
  });

  it('leaves no favorite without its images when it is marked while they are deleted', async () => {
    const late = await completed();
    await finishedHoursAgo(late.id, 169);
    const marking = Object.assign(new DiskStore(folder), {
      delete: async (key: string) => {
        await room.store.setFavorite(allTasksOf(TEST_ACCOUNT), late.id, true);
        await store.delete(key);
      },
    });
    await new ExpireTasks(room.database, marking, room.logger).run(KEPT);
    expect([await stored(), (await room.sql('SELECT id FROM tasks')).rows]).toEqual([[], []]);
  });

  it('groups failures by kind, and says when there are more kinds than it lists', async () => {
    const failed = new FailedTasks(room.database);
    const { id } = await completed();
    const fill = (kinds: string) =>
      room.sql(
        `INSERT INTO tasks SELECT (jsonb_populate_record(tasks, jsonb_build_object('id', 'task_' || kind,
           'status', 'failed', 'model', 'model ' || kind, 'finished_at', now()))).*
         FROM tasks, generate_series(${kinds}) AS kind WHERE tasks.id = $1`,
        [id],
      );
    await fill('1, 200');
    const all = await failed.groups(new Date(0));
    expect([all.groups.length, all.hasMore]).toEqual([200, false]);
    await fill('201, 201');
    const some = await failed.groups(new Date(0));
    expect([some.groups.length, some.hasMore]).toEqual([200, true]);
  });

  it('removes which provider holds a response once it has expired, in batches', async () => {
    const responses = new StoredResponses(room.database, room.logger);
    const row = (id: string, days: number) => ({
      account_id: 'acct_default',
      id,
      api_key_id: 'key_1',
      model: 'm',
      provider: 'p',
      provider_key: null,
      provider_server: null,
      tokens: 1,
      expires_at: new Date(Date.now() + days * DAY_MS).toISOString(),
    });
    const expired = Array.from({ length: 2_001 }, (_, n) => row(`resp_${n}`, -1 - n));
    // Of rows of the same response, the last one counts.
    await responses.put([row('resp_kept', -5), ...expired, { ...row('resp_kept', 1), provider: 'q' }]);
    await responses.put([{ ...row('resp_kept', 1), provider: 'r', tokens: 2 }]);
    expect((await responses.dueSince())?.getTime()).toBeLessThan(Date.now() - 2_000 * DAY_MS);
    expect(await responses.find({ accountId: 'acct_default' }, 'resp_0')).toBeUndefined();
    await responses.expire();
    expect(await responses.dueSince()).toBeUndefined();
    expect((await room.sql('SELECT id FROM stored_responses')).rows).toEqual([{ id: 'resp_kept' }]);
    const kept = { model: 'm', provider: 'r', providerKey: null, providerServer: null, tokens: 2 };
    expect(await responses.find({ accountId: 'acct_default' }, 'resp_kept')).toEqual(kept);
    const own = (keyId: string) => ({ accountId: 'acct_default', own: { keyIds: [keyId] } });
    expect(await responses.find(own('key_1'), 'resp_kept')).toEqual(kept);
    expect(await responses.find(own('key_2'), 'resp_kept')).toBeUndefined();
    expect(await responses.find({ accountId: 'acct_other' }, 'resp_kept')).toBeUndefined();
  });

  it('removes images and uploads first, the task later, and nothing before its time', async () => {
    const expire = new ExpireTasks(room.database, store, room.logger);
    const fresh = await completed();
    const stale = await completed();
    const gone = await completed();
    await finishedHoursAgo(fresh.id, 71);
    await finishedHoursAgo(stale.id, 73);
    await finishedHoursAgo(gone.id, 169);
    await room.inserts.insert(command(), DEADLINE_MS);
    await expire.run(KEPT);
    expect(await stored()).toEqual([fresh.input, fresh.result].sort());
    expect(await room.store.find(allTasksOf(TEST_ACCOUNT), stale.id)).toMatchObject({ status: 'completed' });
    expect(await room.store.find(allTasksOf(TEST_ACCOUNT), gone.id)).toBeUndefined();
    const { rows } = await room.sql('SELECT id FROM tasks');
    expect(rows).toHaveLength(3);
    await expire.run(KEPT);
    expect(await stored()).toHaveLength(2);
  });

  it('collects what no row knows, and leaves alone what one does or may yet', async () => {
    const orphans = orphanCollector();
    const known = await completed();
    const pending = command();
    await room.inserts.insert(pending, DEADLINE_MS);
    const lost = command().id;
    const kept = [known.input, known.result, inputKey(pending.id, 'mask'), resultKey(pending.id, 1, 'png')];
    for (const key of [...kept.slice(2), inputKey(lost, 0), resultKey(lost, 1, 'png'), resultKey(known.id, 7, 'png')]) {
      await put(key);
    }
    expect(await orphans.run(Date.now())).toBe(0);
    expect(await orphans.run(Date.now() + 2 * DAY_MS)).toBe(3);
    expect(await stored()).toEqual(kept.sort());
  });

  /** An upload with its object, over since so many minutes. */
  async function uploaded(minutesOver: number): Promise<string> {
    const id = newUploadId();
    await put(uploadKey(id));
    await room.sql(
      `INSERT INTO uploads (id, account_id, api_key_id, content_type, bytes, expires_at)
       VALUES ($1, $2, 'key_test', 'image/png', 1, now() - $3 * interval '1 minute')`,
      [id, TEST_ACCOUNT, minutesOver],
    );
    return uploadKey(id);
  }

  it('removes uploads once no task that was let to name one can still run', async () => {
    const [config] = loadConfig([TasksConfig], {});
    const longest = config.deadlineMs / 60_000 + 60;
    const held = new HeldTasks(room.database);
    const expire = new ExpireUploads(new UploadRepository(room.database), store, config, room.logger, held);
    const alive = await uploaded(-60);
    const justOver = await uploaded(longest - 1);
    const longOver = await uploaded(longest + 1);
    await expire.run();
    expect(await stored()).toEqual([alive, justOver].sort());
    const { rows } = await room.sql('SELECT id FROM uploads');
    expect(rows).toHaveLength(2);
    expect(rows).not.toContainEqual({ id: longOver.slice('uploads/'.length) });
  });

  it('leaves an upload alone when a task that named it is removed, and collects one without a row', async () => {
    const key = await uploaded(-60);
    const wanted = command({ inputs: [{ kind: 'object', key, bytes: 1, param: 'image_urls[0]' }] });
    await room.inserts.insert(wanted, DEADLINE_MS);
    await room.sql(`UPDATE tasks SET status = 'failed', finished_at = now() - interval '80 hours' WHERE id = $1`, [
      wanted.id,
    ]);
    await new ExpireTasks(room.database, store, room.logger).run(KEPT);
    const { rows } = await room.sql('SELECT 1 FROM tasks WHERE objects_deleted_at IS NOT NULL');
    expect(rows).toHaveLength(1);
    await put(uploadKey(newUploadId()));
    const orphans = orphanCollector();
    expect(await orphans.run(Date.now())).toBe(0);
    expect(await orphans.run(Date.now() + 2 * DAY_MS)).toBe(1);
    expect(await stored()).toEqual([key]);
  });
});
