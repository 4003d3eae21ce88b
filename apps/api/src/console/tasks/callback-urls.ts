import type { LoggedDelivery } from '#notifications/deliveries/delivery-log.js';
import type { TaskStore } from '#tasks/reading/task-store.js';

/** Deliveries of the log, of which those to a callback_url get its URL from their task, if that still exists. */
export async function withCallbackUrls(
  tasks: TaskStore,
  accountId: string,
  deliveries: readonly LoggedDelivery[],
): Promise<LoggedDelivery[]> {
  const ids = deliveries.flatMap(({ endpointId, taskId }) => (endpointId === null ? (taskId ?? []) : []));
  const urls = await tasks.callbackUrls(accountId, [...new Set(ids)]);
  return deliveries.map((delivery) =>
    delivery.endpointId === null ? { ...delivery, url: urls.get(delivery.taskId ?? '') ?? null } : delivery,
  );
}
