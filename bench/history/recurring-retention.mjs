// The retention work of workers, by the classes that do it.
import { AuditLog } from '#accounts/audit-log.js';
import { ChargeRepository } from '#billing/charge.repository.js';
import { ChatUsageRepository } from '#billing/chat-usage.repository.js';
import { UsageRepository } from '#billing/usage.repository.js';
import { ExpireIdempotencyKeys } from '#tasks/retention/expire-idempotency-keys.js';
import { ExpireTasks } from '#tasks/retention/expire-tasks.js';
import { ExpireWebhooks } from '#notifications/deliveries/expire-webhooks.js';

const hoursAgo = (hours) => new Date(Date.now() - hours * 3_600_000);
/** Deletes nothing: another measure covers deleting objects. */
const NO_STORE = { delete: () => Promise.resolve() };

/** Each run finds some thousand more rows due. */
export function recurringRetention({ database, tasks, logger }) {
  const expired = new ExpireTasks(database, NO_STORE, logger);
  const webhooks = new ExpireWebhooks(database, logger);
  const usage = new UsageRepository(database);
  const chats = new ChatUsageRepository(database);
  const charges = new ChargeRepository(database);
  const week = 168;
  const step = (week * 600) / tasks;
  const due = (hours, time) => hours - step * (time + 1);
  const kept = { imageRetentionHours: 10_000, taskRetentionHours: 10_000 };
  return [
    [
      'tasks/ExpireTasks.run: nothing due',
      () => expired.run({ imageRetentionHours: 72 + step, taskRetentionHours: week }),
    ],
    ['tasks/ExpireTasks.run: objects', (time) => expired.run({ ...kept, imageRetentionHours: due(72, time) })],
    ['tasks/ExpireTasks.run: rows', (time) => expired.run({ ...kept, taskRetentionHours: due(week, time) })],
    ['tasks/ExpireTasks.imagesDueSince', () => expired.imagesDueSince({ imageRetentionHours: 60 })],
    ['tasks/ExpireTasks.rowsDueSince', () => expired.rowsDueSince({ taskRetentionHours: 160 }, 24)],
    ['tasks/ExpireIdempotencyKeys.dueSince', () => new ExpireIdempotencyKeys(database, logger).dueSince()],
    ['tasks/ExpireIdempotencyKeys.run', () => new ExpireIdempotencyKeys(database, logger).run()],
    ['notifications/ExpireWebhooks.run', (time) => webhooks.run({ taskRetentionHours: due(week, time) })],
    ['notifications/ExpireWebhooks.dueSince', () => webhooks.dueSince({ taskRetentionHours: 160 })],
    ['billing/ChargeRepository.removeBefore', (time) => charges.removeBefore(hoursAgo(due(week, time)), 1_000)],
    ['billing/ChargeRepository.removeBefore: nothing due', () => charges.removeBefore(hoursAgo(week * 2), 1_000)],
    ['billing/ChargeRepository.oldestBefore', () => charges.oldestBefore(hoursAgo(24 * 6))],
    ['billing/UsageRepository.oldestBefore: hours', () => usage.oldestBefore('hour', hoursAgo(24 * 6))],
    ['billing/UsageRepository.oldestBefore: days', () => usage.oldestBefore('day', hoursAgo(24 * 5))],
    ['billing/UsageRepository.removeBefore: hours', () => usage.removeBefore('hour', hoursAgo(week - 6), 1_000)],
    ['billing/UsageRepository.removeBefore: days', () => usage.removeBefore('day', hoursAgo(week - 48), 1_000)],
    ['billing/UsageRepository.removeBefore: nothing due', () => usage.removeBefore('hour', hoursAgo(week * 2), 1_000)],
    ['billing/ChatUsageRepository.removeBefore', (time) => chats.removeBefore(hoursAgo(due(week, time)), 1_000)],
    ['billing/ChatUsageRepository.oldestBefore', () => chats.oldestBefore(hoursAgo(160))],
    ['accounts/AuditLog.dueSince', () => new AuditLog(database).dueSince({ auditLogRetentionDays: 6 })],
    [
      'accounts/AuditLog.expire',
      // Only twenty entries: with some hundred, the planner prefers to scan a table as small as the test's.
      (time) => new AuditLog(database).expire({ auditLogRetentionDays: (week - (step / 3) * (time + 1)) / 24 }),
    ],
  ];
}
