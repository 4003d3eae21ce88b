import { Inject, Injectable } from '@nestjs/common';
import { BatchSteps, type TakenBatch } from '#batches/batch-steps.repository.js';
import type { Batch, BatchLine, BatchProblem, LineOutcome, SubmittedLine } from '#batches/batch.js';
import { TaskLinks } from '#answers/task-links.js';
import { AppError } from '#contract/app-error.js';
import { uploadKey } from '#storage/object-key.js';
import { ObjectNotFound, type ObjectStore } from '#storage/object-store.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import { TaskStore } from '#tasks/reading/task-store.js';
import { newFileId, newRequestId } from '#tasks/row/task-id.js';
import { allTasksOf, type Task } from '#tasks/row/task.js';
import { ApiKeyCache } from '../auth/api-key-cache.js';
import { assertScope, type Caller } from '../auth/caller.js';
import { CancelOwnTask } from '../tasks/cancel-own-task.js';
import { BatchRoom } from './batch-room.js';
import { readInput } from './input-lines.js';
import { CANCELLED, EXPIRED, outcomeOf, refusalOf, TASK_GONE } from './line-outcome.js';
import { lineKey, SubmitLine } from './submit-line.js';
import { WriteResults } from './write-results.js';

/** Lines that are stored in one statement while a file is checked. */
const LINES_AT_ONCE = 1_000;
/** How often a batch that waits for its tasks is looked at, in ms. */
const LOOK_EVERY_MS = 500;
/** The next step is due at once. */
const NOW = 0;

/** Takes the next step of a batch. Each ends in a few seconds, and may be repeated by another process at any point. */
@Injectable()
export class AdvanceBatch {
  constructor(
    private readonly steps: BatchSteps,
    private readonly tasks: TaskStore,
    private readonly line: SubmitLine,
    private readonly room: BatchRoom,
    private readonly keys: ApiKeyCache,
    private readonly links: TaskLinks,
    private readonly cancelTask: CancelOwnTask,
    private readonly results: WriteResults,
    @Inject(OBJECT_STORE) private readonly store: ObjectStore,
  ) {}

  /** Milliseconds until the next step. Throws CallerGone when `gone` aborts, and what the database or store throw. */
  async advance(batch: TakenBatch, gone: AbortSignal): Promise<number> {
    if (batch.status === 'validating') return await this.validate(batch);
    if (batch.status === 'finalizing') {
      await this.results.write(batch);
      return NOW;
    }
    if (batch.status === 'cancelling' && batch.inProgressAt === null) {
      await this.steps.endUnbegun(batch.id);
      return NOW;
    }
    if (batch.isOver && batch.expiredAt === null) {
      await this.steps.expire(batch.id);
      return NOW;
    }
    const early = batch.status === 'cancelling' ? CANCELLED : batch.expiredAt === null ? undefined : EXPIRED;
    if (early !== undefined) await this.stop(batch, early);
    const running = await this.settle(batch, early);
    const waitMs = early === undefined ? await this.submit(batch, running, gone) : LOOK_EVERY_MS;
    if (await this.steps.hasUnfinished(batch.id)) return waitMs;
    await this.steps.finalize(batch.id, { outputFileId: newFileId(), errorFileId: newFileId() });
    return NOW;
  }

  private async validate({ id, inputFileId, endpoint }: Batch): Promise<number> {
    const problems: BatchProblem[] = [];
    let total = 0;
    let lines: BatchLine[] = [];
    const keep = async (): Promise<void> => {
      await this.steps.addLines(id, lines);
      await this.steps.goOn(id);
      lines = [];
    };
    try {
      const { stream } = await this.store.open(uploadKey(inputFileId));
      for await (const content of readInput(stream as AsyncIterable<Buffer>, endpoint)) {
        if ('problem' in content) problems.push(content.problem);
        else if (problems.length === 0) {
          lines.push(content.line);
          total++;
          if (lines.length === LINES_AT_ONCE) await keep();
        }
      }
    } catch (error) {
      if (!(error instanceof ObjectNotFound)) throw error;
      problems.push({ code: 'file_not_found', message: 'The input file was deleted.', param: null, line: null });
    }
    if (problems.length > 0) {
      await this.steps.refuse(id, problems);
      return NOW;
    }
    await keep();
    await this.steps.begin(id, total);
    return NOW;
  }

  /** Ends the lines whose tasks have ended, and returns the others. `early`: the outcome of cancelled tasks. */
  private async settle(batch: Batch, early: LineOutcome | undefined): Promise<SubmittedLine[]> {
    const lines = await this.steps.running(batch.id);
    if (lines.length === 0) return [];
    const ids = lines.map(({ taskId }) => taskId);
    const ended = new Map((await this.tasks.finished(ids)).map((task) => [task.id, task]));
    const open = new Set(
      await this.tasks.existing(
        batch.accountId,
        ids.filter((id) => !ended.has(id)),
      ),
    );
    const outcomes: { line: number; outcome: LineOutcome }[] = [];
    for (const submitted of lines) {
      const { line, taskId } = submitted;
      const task = ended.get(taskId);
      if (task === undefined) {
        if (!open.has(taskId)) outcomes.push({ line, outcome: TASK_GONE });
      } else if (early !== undefined && task.status === 'cancelled') outcomes.push({ line, outcome: early });
      else if (early === undefined && neverStarted(task)) await this.steps.again(batch.id, submitted);
      else outcomes.push({ line, outcome: outcomeOf(task, this.links) });
    }
    await this.steps.end(batch.id, outcomes);
    return lines.filter(({ taskId }) => open.has(taskId));
  }

  /** Submits as many lines as there is room for; milliseconds until there may be more to do. */
  private async submit(batch: Batch, running: readonly SubmittedLine[], gone: AbortSignal): Promise<number> {
    const caller = await this.callerOf(batch);
    if (caller instanceof AppError) {
      if (caller.status >= 500) throw caller;
      await this.endUnsubmitted(batch, refusalOf(caller, newRequestId()));
      return LOOK_EVERY_MS;
    }
    const room = (await this.room.of(batch, caller)) - running.length;
    if (room <= 0) return LOOK_EVERY_MS;
    const lines = await this.steps.claim(batch.id, this.room.atOnce(room));
    const submissions = await Promise.allSettled(lines.map((line) => this.line.submit(batch, line, caller, gone)));
    const outcomes: { line: number; outcome: LineOutcome }[] = [];
    let waitMs = lines.length === 0 || lines.length === room ? LOOK_EVERY_MS : NOW;
    for (const [index, settled] of submissions.entries()) {
      const line = lines[index];
      if (line === undefined || settled.status === 'rejected') continue;
      const submission = settled.value;
      if ('taskId' in submission) await this.steps.submitted(batch.id, line, submission.taskId);
      else if ('outcome' in submission) outcomes.push({ line: line.line, outcome: submission.outcome });
      else waitMs = Math.max(waitMs, submission.retryMs);
    }
    await this.steps.end(batch.id, outcomes);
    const failed = submissions.find((settled) => settled.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    return waitMs;
  }

  /** Whoever the key's requests count for now, or why it may make none. */
  private async callerOf({ apiKeyId }: Batch): Promise<Caller | AppError> {
    try {
      const caller = await this.keys.callerOf(apiKeyId);
      assertScope(caller, 'images');
      return caller;
    } catch (error) {
      if (error instanceof AppError) return error;
      throw error;
    }
  }

  /** Ends what has not started, and cancels what has. */
  private async stop(batch: Batch, early: LineOutcome): Promise<void> {
    await this.endUnsubmitted(batch, early);
    const scope = allTasksOf(batch.accountId);
    for (const { taskId } of await this.steps.running(batch.id)) await this.cancelTask.cancel(scope, taskId);
  }

  /** Ends the lines without a task. A line that a killed process had claimed may have one. */
  private async endUnsubmitted(batch: Batch, outcome: LineOutcome): Promise<void> {
    await this.steps.endWaiting(batch.id, outcome);
    const outcomes: { line: number; outcome: LineOutcome }[] = [];
    for (const line of await this.steps.claimed(batch.id)) {
      const taskId = await this.tasks.ofKey(batch.accountId, lineKey(batch, line));
      if (taskId === undefined) outcomes.push({ line: line.line, outcome });
      else await this.steps.submitted(batch.id, line, taskId);
    }
    await this.steps.end(batch.id, outcomes);
  }
}

/** Others came first until its deadline, which is no answer to its line. */
function neverStarted({ startedAt, error }: Task): boolean {
  return startedAt === null && error?.code === 'generation_timeout';
}
