// Queries of the delivery log and the audit log.
import { AuditLog } from '#accounts/audit-log.js';

/** Like `recurring`; the places are in the middle of the logs. */
export function recurringLogs({ database, log: deliveries, accountId }, { near, delivery, audit }) {
  const log = new AuditLog(database);
  const list = (name, query, account = accountId) => [
    `notifications/DeliveryLog.list: ${name}`,
    () => deliveries.list(account, { limit: 21, ...query }),
  ];
  const entries = (name, query) => [
    `accounts/AuditLog.list: ${name}`,
    () => log.list(accountId, { limit: 50, ...query }),
  ];
  return [
    list('newest', {}),
    list('after the middle', { after: delivery.id }),
    list('failed', { state: 'failed' }),
    list('pending', { state: 'pending' }),
    list('failed, of an endpoint', { state: 'failed', endpointId: 'whe_bench' }),
    list('of an endpoint, after the middle', { endpointId: 'whe_bench', after: delivery.id }),
    list('of an endpoint without any', { endpointId: 'whe_none' }),
    list('of a task', { taskId: near.id }),
    list('of an account with few', {}, 'acct_rare'),
    entries('newest', {}),
    entries('next page', { after: audit.id }),
    entries('of a person', { who: 'person_none' }),
    entries('of nobody', { who: 'nobody' }),
    entries('of a kind that is rare', { actions: ['provider.drained'] }),
    entries('of a kind that never was', { actions: ['account.renamed'] }),
    [
      'accounts/AuditLog.writeOncePer',
      () => log.writeOncePer({ accountId, personId: null, action: 'task.viewed', target: 'x' }, 60_000),
    ],
  ];
}
