import { Injectable } from '@nestjs/common';
import { AuditLog } from '#accounts/audit-log.js';
import { ExpireSignIns } from '#accounts/expire-sign-ins.js';
import { RefusedCallsRepository } from '#accounts/refused-calls.repository.js';
import { AlertEventRepository } from '#notifications/alerts/alert-event.repository.js';
import { ExpireChatUsage } from '#billing/expire-chat-usage.js';
import { ExpireLedger } from '#billing/expire-ledger.js';
import { LabelLimits } from '#billing/label-limits.repository.js';
import { RollUpUsage } from '#billing/roll-up-usage.js';
import { EraseMatching } from '#erasure/erase-matching.js';
import { EraseTasks } from '#erasure/erase-tasks.js';
import { ExpireBatches } from '#batches/expire-batches.js';
import { HealthConfig } from '#health/health.config.js';
import { StoredResponses } from '#routing/stored-responses.js';
import { StorageConfig } from '#storage/storage.config.js';
import { IDEMPOTENCY_KEY_HOURS } from '#tasks/intake/keyed-requests.js';
import { ExpireIdempotencyKeys } from '#tasks/retention/expire-idempotency-keys.js';
import { ExpireTasks } from '#tasks/retention/expire-tasks.js';
import { TasksConfig } from '#tasks/row/tasks.config.js';
import { DeletedTasks } from '#tasks/states/deleted-tasks.js';
import { CollectOrphans } from '#uploads/collect-orphans.js';
import { ExpireUploads } from '#uploads/expire-uploads.js';
import { ExpireWebhooks } from '#notifications/deliveries/expire-webhooks.js';
import { EndUserRefusals } from '#accounts/end-user-refusals.repository.js';
import { EndUserStates } from '#accounts/end-user-states.js';
import { SafetyNotices } from '#accounts/safety-notices.repository.js';
import { WatchEndUsers } from '../end-users/watch-end-users.js';
import { EvaluateAlerts } from '../alerts/evaluate-alerts.js';
import { MailApprovers } from '../approvals/mail-approvers.js';
import { WorkerConfig } from '../worker.config.js';

/** How often expired data is removed. */
const EXPIRE_EVERY_MS = 10 * 60_000;
/** Less often than anything else, because it lists every object of the store. */
const WALK_EVERY_MS = 24 * 3_600_000;
/** Whoever deletes a task expects it to be gone, even if the process that was to erase it died. */
const ERASE_EVERY_MS = 5_000;
/** Somebody waits for the approval. */
const TELL_APPROVERS_EVERY_MS = 10_000;
/** Usage that is not rolled up yet is read row by row, so those rows should stay few. */
const ROLL_UP_EVERY_MS = 5_000;
/** An end user who is a danger is refused, and their account alerted, within seconds. */
const WATCH_EVERY_MS = 1_000;
/** Alerts are evaluated at every third health check, every 15 s by default: the values that rules compare cover minutes. */
const EVALUATIONS_EVERY = 3;
/** A rule is due slightly before its interval ends, so that a single worker never evaluates it one interval late. */
const DUE_SHARE = 0.75;

interface Schedule {
  /** Names the job in the log when it fails. */
  readonly name: string;
  readonly everyMs: number;
  readonly run: () => Promise<unknown>;
  /** For each kind that the job removes, since when its oldest expired item is due, if there is one. */
  readonly dueSince?: Readonly<Record<string, () => Promise<Date | undefined>>>;
}

/** What every worker does at intervals: each room removes its own expired rows, sums up usage, evaluates alerts, or emails approvers. */
@Injectable()
export class Schedules {
  readonly table: readonly Schedule[];

  constructor(
    tasks: ExpireTasks,
    matching: EraseMatching,
    erasures: EraseTasks,
    deletedTasks: DeletedTasks,
    uploads: ExpireUploads,
    batches: ExpireBatches,
    orphans: CollectOrphans,
    idempotencyKeys: ExpireIdempotencyKeys,
    signIns: ExpireSignIns,
    chats: ExpireChatUsage,
    responses: StoredResponses,
    deliveries: ExpireWebhooks,
    ledger: ExpireLedger,
    labelLimits: LabelLimits,
    auditEntries: AuditLog,
    refusedCalls: RefusedCallsRepository,
    alertEvents: AlertEventRepository,
    alerts: EvaluateAlerts,
    endUsers: WatchEndUsers,
    endUserStates: EndUserStates,
    endUserRefusals: EndUserRefusals,
    safetyNotices: SafetyNotices,
    approvals: MailApprovers,
    usage: RollUpUsage,
    config: WorkerConfig,
    tasksConfig: TasksConfig,
    storageConfig: StorageConfig,
    { checkIntervalMs }: HealthConfig,
  ) {
    const { imageRetentionHours } = storageConfig;
    const { taskRetentionHours } = tasksConfig;
    const hours = { imageRetentionHours, taskRetentionHours };
    const evaluateMs = EVALUATIONS_EVERY * checkIntervalMs;
    this.table = [
      {
        name: 'tasks',
        everyMs: EXPIRE_EVERY_MS,
        run: () => tasks.run(hours),
        dueSince: {
          images: () => tasks.imagesDueSince(hours),
          tasks: () => tasks.rowsDueSince(hours, IDEMPOTENCY_KEY_HOURS),
        },
      },
      {
        name: 'erasures_by_filter',
        everyMs: ERASE_EVERY_MS,
        run: () => matching.run(),
        dueSince: { erasures_by_filter: () => matching.dueSince() },
      },
      {
        name: 'erasures',
        everyMs: ERASE_EVERY_MS,
        run: () => erasures.run(),
        dueSince: { erasures: () => deletedTasks.erasureDueSince() },
      },
      {
        name: 'uploads',
        everyMs: EXPIRE_EVERY_MS,
        run: () => uploads.run(),
        dueSince: { uploads: () => uploads.dueSince() },
      },
      {
        name: 'batches',
        everyMs: EXPIRE_EVERY_MS,
        run: () => batches.run(),
        dueSince: { batches: () => batches.dueSince() },
      },
      strayObjects(orphans),
      {
        name: 'idempotency_keys',
        everyMs: EXPIRE_EVERY_MS,
        run: () => idempotencyKeys.run(),
        dueSince: { idempotency_keys: () => idempotencyKeys.dueSince() },
      },
      {
        name: 'sign_ins',
        everyMs: EXPIRE_EVERY_MS,
        run: () => signIns.run(),
        dueSince: { sign_ins: () => signIns.dueSince() },
      },
      {
        name: 'chats',
        everyMs: EXPIRE_EVERY_MS,
        run: () => chats.run(config),
        dueSince: { chats: () => chats.dueSince(config) },
      },
      {
        name: 'responses',
        everyMs: EXPIRE_EVERY_MS,
        run: () => responses.expire(),
        dueSince: { responses: () => responses.dueSince() },
      },
      {
        name: 'deliveries',
        everyMs: EXPIRE_EVERY_MS,
        run: () => deliveries.run(tasksConfig),
        dueSince: { deliveries: () => deliveries.dueSince(tasksConfig) },
      },
      {
        name: 'ledger',
        everyMs: EXPIRE_EVERY_MS,
        run: async () => {
          await ledger.run(config);
          await labelLimits.removeUnused();
        },
        dueSince: {
          charges: () => ledger.chargesDueSince(config),
          usage_hours: () => ledger.usageDueSince('hour'),
          usage_days: () => ledger.usageDueSince('day'),
        },
      },
      {
        name: 'audit_entries',
        everyMs: EXPIRE_EVERY_MS,
        run: () => auditEntries.expire(config),
        dueSince: { audit_entries: () => auditEntries.dueSince(config) },
      },
      {
        name: 'refused_calls',
        everyMs: EXPIRE_EVERY_MS,
        run: () => refusedCalls.expire(),
        dueSince: { refused_calls: () => refusedCalls.dueSince() },
      },
      {
        name: 'alerts',
        everyMs: EXPIRE_EVERY_MS,
        run: () => alertEvents.expire(config),
        dueSince: { alerts: () => alertEvents.dueSince(config) },
      },
      {
        name: 'end_users',
        everyMs: EXPIRE_EVERY_MS,
        run: async () => {
          await endUserStates.expire();
          await endUserRefusals.expire();
          await safetyNotices.expire();
        },
        dueSince: {
          end_user_states: () => endUserStates.dueSince(),
          end_user_refusals: () => endUserRefusals.dueSince(),
          safety_notices: () => safetyNotices.dueSince(),
        },
      },
      { name: 'end_user_watch', everyMs: WATCH_EVERY_MS, run: () => endUsers.run() },
      { name: 'alert_evaluation', everyMs: evaluateMs, run: () => alerts.run(evaluateMs * DUE_SHARE) },
      { name: 'approval_mails', everyMs: TELL_APPROVERS_EVERY_MS, run: () => approvals.run() },
      { name: 'usage_rollup', everyMs: ROLL_UP_EVERY_MS, run: () => usage.run() },
    ];
  }
}

/**
 * Removes objects without a row, in each worker at its own time of the day. Stays due when it fails, so that it is tried
 * again in ten minutes.
 */
function strayObjects(orphans: CollectOrphans): Schedule {
  /** When the next walk through the store is due, in ms since 1970. */
  let walkAt = Date.now() + Math.random() * WALK_EVERY_MS;
  return {
    name: 'stray_objects',
    everyMs: EXPIRE_EVERY_MS,
    run: async () => {
      if (Date.now() < walkAt) return;
      await orphans.run(Date.now());
      walkAt = Date.now() + WALK_EVERY_MS;
    },
    dueSince: { stray_objects: () => Promise.resolve(new Date(walkAt)) },
  };
}
