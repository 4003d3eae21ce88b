// What goes through tables of open things: sign-ins, alerts, uploads, budgets with what is set aside, and the backlog of the queue.
import { ulid } from 'ulid';
import { ExpireSignIns } from '#accounts/expire-sign-ins.js';
import { RefusedCallsRepository } from '#accounts/refused-calls.repository.js';
import { SavedViews } from '#accounts/saved-views.js';
import { SessionStore } from '#accounts/session-store.js';
import { AlertEventRepository, testMessage } from '#notifications/alerts/alert-event.repository.js';
import { BudgetRepository } from '#billing/budget.repository.js';
import { ChatReserves } from '#billing/chat-reserves.js';
import { ALERT_KINDS } from '#contract/alert-message.js';
import { adopt } from '#tasks/intake/attach-task.js';
import { FailedTasks } from '#tasks/reading/failed-tasks.js';
import { TaskFigures } from '#tasks/reading/task-figures.js';
import { newRequestId, newUploadId } from '#tasks/row/task-id.js';
import { TaskThumbnails } from '#tasks/states/task-thumbnails.js';
import { TaskObjects } from '#tasks/retention/task-objects.js';
import { Metrics } from '#telemetry/metrics.js';
import { UploadRepository } from '#uploads/upload.repository.js';
import { WebhookGauges } from '#notifications/deliveries/webhook-gauges.js';

const HOUR_MS = 3_600_000;
const hoursAgo = (hours) => new Date(Date.now() - hours * HOUR_MS);

/** As `recurring` answers; the places are in the middle of the history. */
export function recurringOpen(context, places) {
  return [
    ...signInsOf(context),
    ...alertsOf(context),
    ...uploadsOf(context),
    ...budgetsOf(context),
    ...tasksOf(context, places),
  ];
}

function signInsOf({ database, secretsConfig, logger }) {
  const sessions = new SessionStore(database, secretsConfig);
  const views = new SavedViews(database);
  const refused = new RefusedCallsRepository(database);
  const person = 'person_2';
  return [
    [
      'accounts/SessionStore: from begin to end',
      async () => {
        const { id, token } = await sessions.begin(person, 'bench');
        await database.session.updateMany({ where: { id }, data: { lastSeenAt: hoursAgo(1) } });
        const session = await sessions.find(token);
        await sessions.prove(id);
        await sessions.move(session, session.accountId);
        await sessions.end(person, id);
      },
    ],
    ['accounts/SessionStore.list', () => sessions.list(person)],
    [
      'accounts/SavedViews: saved and removed',
      async () => {
        await views.save(person, { name: 'bench', filters: { status: 'failed' } });
        await views.remove(person, 'bench');
      },
    ],
    [
      'accounts/RefusedCallsRepository.add',
      () =>
        refused.add([
          {
            ...{ minute: hoursAgo(1), accountId: 'acct_bench', keyId: 'key_1' },
            ...{ code: 'rate_limit_exceeded', status: 429, count: 3 },
          },
        ]),
    ],
    ['accounts/ExpireSignIns.dueSince', () => new ExpireSignIns(database, logger).dueSince()],
    ['accounts/ExpireSignIns.run', () => new ExpireSignIns(database, logger).run()],
  ];
}

function alertsOf({ database, endpoints, newDeliveries, accountId }) {
  const alerts = new AlertEventRepository(database, newDeliveries);
  const rule = { accountId, kind: 'failure_rate', channelIds: [] };
  const reading = {
    subject: 'bench',
    name: 'bench',
    title: 'A title',
    text: 'A text',
    path: '/console',
    value: 1,
    level: 1,
  };
  const list = (name, query) => [
    `notifications/AlertEventRepository.list: ${name}`,
    () => alerts.list(accountId, { kinds: ALERT_KINDS, limit: 21, ...query }),
  ];
  return [
    list('newest', {}),
    list('after the middle', { after: `ale_${ulid(hoursAgo(365 * 24).getTime())}` }),
    list('firing', { state: 'firing' }),
    list('of a kind that is rare', { kinds: ['provider_down'] }),
    list('of a kind that never was', { kinds: ['overall_failure_rate'] }),
    ['notifications/AlertEventRepository.open', () => alerts.open(rule)],
    [
      'notifications/AlertEventRepository: from begin to close',
      async () => {
        await database.alertRule.upsert({
          where: { accountId_kind: { accountId, kind: rule.kind } },
          create: {
            accountId,
            kind: rule.kind,
            enabled: true,
            thresholds: [5],
            windowMinutes: 15,
            minTasks: 1,
            holdMinutes: 0,
            repeatHours: 0,
            channelIds: [],
          },
          update: { enabled: true },
        });
        const now = new Date();
        const alert = await alerts.begin(rule, reading, now);
        await alerts.applyStep(rule, alert, { step: 'fire', reading, level: 1, now });
        await alerts.acknowledge(accountId, { id: alert.id, kinds: [rule.kind], by: 'person_2' });
        await alerts.close(accountId, rule.kind);
      },
    ],
    [
      'notifications/NewDeliveries: a channel that is tried',
      async () => {
        const channel = await endpoints.addChannel(accountId, 'slack', 'https://bench.example/alerts');
        await newDeliveries.addMessage(accountId, channel, testMessage('bench', new Date()));
        await endpoints.removeChannel(accountId, channel);
      },
    ],
    ['notifications/AlertEventRepository.dueSince', () => alerts.dueSince({ auditLogRetentionDays: 700 })],
    ['notifications/AlertEventRepository.expire', () => alerts.expire({ auditLogRetentionDays: 710 })],
  ];
}

function uploadsOf({ database, accountId }) {
  const uploads = new UploadRepository(database);
  const files = { accountId, own: { keyIds: ['key_1'] } };
  const limits = { retentionHours: 72, bytesPerAccount: 1e12 };
  const upload = () => ({ id: newUploadId(), accountId, apiKeyId: 'key_1', contentType: 'image/png', bytes: 1_000 });
  return [
    ['uploads/UploadRepository.assertRoom', () => uploads.assertRoom(accountId, limits)],
    ['uploads/UploadRepository.insert', () => uploads.insert(upload(), limits)],
    [
      'uploads/UploadRepository: a file, from its writing to its removal',
      async () => {
        const { id } = upload();
        await uploads.addResults(
          { ...upload(), id, pixels: null, purpose: 'batch_output', fileName: 'a.jsonl' },
          HOUR_MS,
        );
        await uploads.file(files, id);
        await uploads.files(files, { limit: 100, ascending: false });
        await uploads.removeFile(files, id);
      },
    ],
    ['uploads/UploadRepository.find', () => uploads.find(accountId, [newUploadId(), newUploadId()])],
    [
      'uploads/UploadRepository.known',
      () => uploads.known(Array.from({ length: 500 }, () => `uploads/${newUploadId()}`)),
    ],
    ['uploads/UploadRepository.page', () => uploads.page('upload_', 1_000)],
    ['uploads/UploadRepository.oldestExpired', () => uploads.oldestExpired(hoursAgo(2))],
    [
      'uploads/UploadRepository: expired ones removed',
      async () => uploads.remove(await uploads.expired(hoursAgo(2), 200)),
    ],
  ];
}

function budgetsOf({ database, accountId }) {
  const budgets = new BudgetRepository(database);
  const reserves = new ChatReserves(database);
  const owner = { ownerId: accountId, owner: 'account' };
  return [
    [
      'billing/BudgetRepository.set',
      async () => {
        await budgets.set(owner, { limit: 1_000_000_000_000, period: 'month' });
        await budgets.set(owner, undefined);
      },
    ],
    [
      'billing/ChatReserves: reserved and released',
      async () => {
        const requestId = newRequestId();
        await reserves.reserve({ requestId, accountId: 'acct_bench', keyId: 'key_4' }, 700, 60_000);
        await reserves.release(requestId);
      },
    ],
    ['billing/ChatReserves.releaseLost', () => reserves.releaseLost()],
  ];
}

function tasksOf(
  { database, log, newDeliveries, accountId, scope, store, lists, sweep, lost, redis, redisConfig },
  { near, failed, delivery },
) {
  const figures = new TaskFigures(database);
  const objects = new TaskObjects(database);
  const thumbnails = new TaskThumbnails(database);
  return [
    ['tasks/TaskFigures.oldestWaitingSeconds', () => figures.oldestWaitingSeconds()],
    ['tasks/TaskFigures.waiting', () => figures.waiting()],
    ['tasks/TaskFigures.positionOf', () => figures.positionOf(scope, near)],
    ['tasks/TaskFigures.latency: of all accounts', () => figures.latency('installation')],
    [
      'tasks/TaskFigures.latency: 30 days of an account',
      () => figures.latency({ accountId, from: hoursAgo(24 * 30), to: new Date() }),
    ],
    ['tasks/TaskListStore.countByOutcome', () => lists.countByOutcome(scope, {})],
    [
      'tasks/TaskListStore.countByOutcome: own tasks',
      () => lists.countByOutcome({ accountId, own: { personId: 'person_1', keyIds: ['key_1'] } }, {}),
    ],
    ['tasks/FailedTasks.orders', () => new FailedTasks(database).orders([failed.id])],
    [
      'tasks/TaskStore: a favorite, and none any more',
      async () => {
        await store.setFavorite(scope, near.id, true);
        await store.setFavorite(scope, near.id, false);
        await store.forgetFavorites(accountId);
      },
    ],
    ['tasks/adopt', () => adopt(database, near)],
    [
      'tasks/LostCallers.askOthers',
      () => lost.askOthers({ apiKeyId: 'key_1', fingerprint: Buffer.alloc(32), windowMs: 120_000 }),
    ],
    ['tasks/LostCallers.markGone', () => lost.markGone(['gone'])],
    ['tasks/TaskThumbnails.imageWithout', () => thumbnails.imageWithout(near.id)],
    ['tasks/TaskThumbnails.record', () => thumbnails.record(near.id)],
    ['tasks/TaskObjects.markWithoutThumbnail', () => objects.markWithoutThumbnail(near.id)],
    ['tasks/TaskObjects.markDeleted', () => objects.markDeleted(failed.id)],
    [
      'tasks/SweepTasks.checkSlots',
      async () => {
        // As if all accounts were last looked up when nobody remembers.
        await redis.del(`${redisConfig.redisPrefix}:in-flight:checked`);
        await redis.zadd(`${redisConfig.redisPrefix}:in-flight`, 0, accountId, 0, 'acct_bench');
        await sweep.checkSlots();
      },
    ],
    ['notifications/DeliveryLog.find', () => log.find(accountId, delivery.id)],
    ['notifications/NewDeliveries.addTest', () => newDeliveries.addTest(accountId, 'whe_bench')],
    ['notifications/NewDeliveries.resend', () => newDeliveries.resend(accountId, delivery.id)],
    [
      'notifications/NewDeliveries.resendFailed',
      () => newDeliveries.resendFailed(accountId, 'whe_bench', { after: undefined, limit: 100 }),
    ],
    [
      'notifications/WebhookGauges.read',
      async () => {
        const metrics = new Metrics();
        new WebhookGauges(metrics, database).onModuleInit();
        await metrics.text();
      },
    ],
  ];
}
