import type { ServerContext } from '@modelcontextprotocol/server';
import type { TaskSummary } from '#tasks/row/task.js';

/** Tells the client how far a task is; undefined if it has not asked. */
export type OnProgress = ((task: TaskSummary | undefined) => void) | undefined;

/** Sends the progress of a request to a client that has asked for it. */
export function progressOf({ mcpReq }: ServerContext): OnProgress {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return undefined;
  let last = -1;
  return (task) => {
    // Each must be more than the one before.
    if (task === undefined || task.progress <= last) return;
    last = task.progress;
    const params = { progressToken, progress: last, total: 100, message: task.phase };
    // A client that has gone loses nothing but the message.
    mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined);
  };
}
