import { readAudit } from './audit.js';
import type { FaultRoom, Member } from './fault-room.js';
import { overlap, type FaultWindow } from './oracle.js';

/** A task that a worker was processing when it was killed, frozen or blocked. */
export interface Resumption {
  readonly taskId: string;
  readonly fault: string;
  /** Milliseconds until it was claimed again or ended; undefined when neither happened. */
  readonly milliseconds: number | undefined;
  /** How many of them were during other faults. */
  readonly excused: number;
}

const KINDS = ['killed', 'frozen', 'blocked'];
const NO_LONGER_HELD = new Set([
  'task.completed',
  'task.failed',
  'task.given_back',
  'task.lease_lost',
  'task.result_discarded',
]);

/** What happened to tasks in progress when their worker was killed, frozen or blocked, from the database's audit. */
export async function resumptions(room: FaultRoom, faults: readonly FaultWindow[]): Promise<Resumption[]> {
  const found: Resumption[] = [];
  for (const fault of faults) {
    const worker = room.workers.find(({ name }) => KINDS.some((kind) => fault.name === `${name} ${kind}`));
    if (worker === undefined) continue;
    const others = faults.filter((other) => other !== fault);
    for (const { taskId, attempt } of inHand(worker, fault.from)) {
      const lines = await readAudit(room.pool, [taskId]);
      // Ended, but its worker was killed before it could log that.
      if (lines.some((line) => line.at.getTime() < fault.from && line.status !== 'pending')) continue;
      const next = lines.find(
        (line) => line.at.getTime() >= fault.from && (line.attempt > attempt || line.status !== 'pending'),
      );
      const until = next?.at.getTime();
      found.push({
        taskId,
        fault: fault.name,
        milliseconds: until === undefined ? undefined : until - fault.from,
        excused: until === undefined ? 0 : overlap(others, fault.from, until),
      });
    }
  }
  return found;
}

function inHand(worker: Member, at: number): { taskId: string; attempt: number }[] {
  const held = new Map<string, number>();
  for (const line of worker.lives.flatMap((life) => life.logs())) {
    if (Date.parse(String(line['time'])) > at) continue;
    const taskId = String(line['taskId']);
    if (line['event'] === 'task.claimed') held.set(taskId, Number(line['attempt']));
    else if (NO_LONGER_HELD.has(String(line['event']))) held.delete(taskId);
    // A new process has no tasks in progress.
    else if (line['event'] === 'worker.started') held.clear();
  }
  return [...held].map(([taskId, attempt]) => ({ taskId, attempt }));
}
