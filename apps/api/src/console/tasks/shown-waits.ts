import { Injectable } from '@nestjs/common';
import { WaitingTasks } from '#answers/waiting-tasks.js';
import { waitingFor, type WaitingReason } from '#contract/waiting.js';
import type { QueuePosition } from '#queue/fair-order.js';
import { TaskEstimates } from '#tasks/admission/task-estimates.js';
import type { TaskDetail } from '#tasks/reading/task-details.js';
import { TaskFigures } from '#tasks/reading/task-figures.js';
import type { TaskScope, TaskSummary } from '#tasks/row/task.js';

/** A task and its details, which say what it needs of a provider. */
export interface DetailedTask {
  readonly task: TaskSummary;
  readonly detail: TaskDetail;
}

/** Why a task waits, and where it stands. */
export interface ShownWait {
  readonly reason: WaitingReason;
  /** Its position as users read it; null if unknown. */
  readonly position: number | null;
  /** Its place in its account's line, if it has one. */
  readonly place: QueuePosition | undefined;
}

/** Of a task that waits for its approval: it stands in no line. */
const HELD: ShownWait = { reason: waitingFor('approval'), position: null, place: undefined };

/** Why tasks wait, for those that have not begun. */
@Injectable()
export class ShownWaits {
  constructor(
    private readonly waiting: WaitingTasks,
    private readonly estimates: TaskEstimates,
    private readonly figures: TaskFigures,
  ) {}

  /** By task id; nothing for a task that does not wait. */
  async of(tasks: readonly DetailedTask[]): Promise<ReadonlyMap<string, ShownWait>> {
    const held = tasks.filter(({ task }) => task.phase === 'held').map(({ task }) => [task.id, HELD] as const);
    const waiting = tasks.filter(({ task }) => task.status === 'pending' && task.phase === 'queued');
    if (waiting.length === 0) return new Map(held);
    const [places, reasons] = await Promise.all([
      this.estimates.positions(waiting.map(({ task }) => task)),
      this.waiting.reasonsOf(waiting.map(requestOf)),
    ]);
    return new Map([
      ...held,
      ...waiting.flatMap(({ task }, index) => {
        const [reason, place] = [reasons[index], places.get(task.id)];
        const position = reason?.for === 'line' ? (place?.position ?? null) : null;
        return reason === undefined ? [] : [[task.id, { reason, place, position }] as const];
      }),
    ]);
  }

  /** Like `of`. A task that does not wait for its turn has its position by age, among the waiting tasks of the scope. */
  async ofOne(scope: TaskScope, one: DetailedTask): Promise<ShownWait | undefined> {
    const wait = (await this.of([one])).get(one.task.id);
    if (wait === undefined || wait.position !== null || wait === HELD) return wait;
    return { ...wait, position: await this.figures.positionOf(scope, one.task) };
  }

  /** Whether its estimate rests on measurements, and on nothing that may last longer than anybody knows. */
  hasEstimate(task: TaskSummary, wait: ShownWait | undefined): boolean {
    if (task.underway === null) return true;
    // The default estimate may be far off: it would give the first image of any model half a minute.
    return this.estimates.isMeasured(task) && (wait === undefined || wait.reason.for === 'line');
  }
}

function requestOf({ task: { model, options }, detail }: DetailedTask) {
  return {
    model,
    images: detail.inputs.length,
    mask: detail.mask !== null,
    markup: detail.markup !== null,
    svg: options.outputFormat === 'svg',
    n: options.n,
    onlyProvider: options.onlyProvider,
    region: options.region,
    retryAt: detail.calls > 0 ? detail.nextTryAt : null,
  };
}
