import { Inject, Injectable } from '@nestjs/common';
import { BatchSteps, type TakenBatch } from '#batches/batch-steps.repository.js';
import {
  hasChats,
  type Batch,
  type BatchLine,
  type BatchProblem,
  type ClaimedLine,
  type LineEnd,
  type LineFormat,
  type LineOutcome,
} from '#batches/batch.js';
import { TaskLinks } from '#answers/task-links.js';
import { AppError } from '#contract/app-error.js';
import { uploadKey } from '#storage/object-key.js';
import { ObjectNotFound, type ObjectStore } from '#storage/object-store.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import { TaskStore } from '#tasks/reading/task-store.js';
import { newFileId, newRequestId } from '#tasks/row/task-id.js';
import { allTasksOf, isDeleted, type Task } from '#tasks/row/task.js';
import { ApiKeyCache } from '../auth/api-key-cache.js';
import { assertScope, type Caller } from '../auth/caller.js';
import { CancelOwnTask } from '../tasks/cancel-own-task.js';
import { BatchRoom } from './batch-room.js';
import { CallChats } from './call-chats.js';
import { readInput } from './input-lines.js';
import { CANCELLED, EXPIRED, outcomeOf, refusalOf, TASK_GONE } from './line-outcome.js';
import { lineKey, SubmitLine, type Submission } from './submit-line.js';
import { WriteResults } from './write-results.js';

/** Lines that are stored in one statement while a file is checked. */
const LINES_AT_ONCE = 1_000;
/** Tasks that are canceled before the step says that it goes on. */
const CANCELLED_AT_ONCE = 100;
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
    private readonly chats: CallChats,
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
    const waitMs = hasChats(batch) ? await this.callNext(batch, early) : await this.submitNext(batch, early, gone);
    if (await this.steps.hasUnfinished(batch.id)) return waitMs;
    await this.steps.finalize(batch.id, { outputFileId: newFileId(), errorFileId: newFileId() });
    return NOW;
  }

  private async submitNext(batch: Batch, early: LineOutcome | undefined, gone: AbortSignal): Promise<number> {
    const inFlight = await this.settle(batch, early);
    return early === undefined ? await this.submit(batch, inFlight, gone) : LOOK_EVERY_MS;
  }

  private async callNext(batch: Batch, early: LineOutcome | undefined): Promise<number> {
    await this.chats.settle(batch);
    if (early !== undefined) return LOOK_EVERY_MS;
    const caller = await this.admitted(batch, 'chat');
    return caller === undefined ? LOOK_EVERY_MS : await this.chats.start(batch, caller);
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

  /**
   * Ends the lines whose tasks have ended, and returns how many of the others wait for a slot or run: any number may wait
   * for an approval. `early`: the outcome of cancelled tasks.
   */
  private async settle(batch: Batch, early: LineOutcome | undefined): Promise<number> {
    const lines = await this.steps.running(batch.id);
    if (lines.length === 0) return 0;
    const ids = lines.map(({ taskId }) => taskId);
    const ended = new Map((await this.tasks.finished(ids)).map((task) => [task.id, task]));
    const open = await this.tasks.phases(
      batch.accountId,
      ids.filter((id) => !ended.has(id)),
    );
    const ends: LineEnd[] = [];
    for (const submitted of lines) {
      const { taskId } = submitted;
      const task = ended.get(taskId);
      if (task === undefined) {
        if (!open.has(taskId)) ends.push({ ...submitted, outcome: TASK_GONE });
      } else if (isDeleted(task)) ends.push({ ...submitted, outcome: TASK_GONE });
      else if (early !== undefined && task.status === 'cancelled') {
        ends.push({ ...submitted, outcome: early, micros: spentOn(task) });
      } else if (early === undefined && neverStarted(task)) await this.steps.again(batch.id, submitted);
      else ends.push({ ...submitted, outcome: outcomeOf(task, submitted.format, this.links), micros: spentOn(task) });
    }
    await this.steps.end(batch.id, ends);
    return [...open.values()].filter((phase) => phase !== 'held').length;
  }

  /** Submits as many lines as there is room for; milliseconds until there may be more to do. */
  private async submit(batch: Batch, inFlight: number, gone: AbortSignal): Promise<number> {
    const caller = await this.admitted(batch, 'images');
    if (caller === undefined) return LOOK_EVERY_MS;
    const room = (await this.room.of(batch, caller)) - inFlight;
    if (room <= 0) return LOOK_EVERY_MS;
    const lines = await this.steps.claim(batch.id, this.room.atOnce(room));
    const submissions = await Promise.allSettled(lines.map((line) => this.line.submit(batch, line, caller, gone)));
    const ends: LineEnd[] = [];
    for (const [index, settled] of submissions.entries()) {
      const line = lines[index];
      if (line === undefined || settled.status === 'rejected') continue;
      const submission = settled.value;
      if ('taskId' in submission) await this.keep(batch, line, submission);
      else if ('outcome' in submission) ends.push({ line: line.line, taskId: null, outcome: submission.outcome });
      else if (submission.hasNoTask) await this.steps.putOff(batch.id, line);
    }
    await this.steps.end(batch.id, ends);
    const failed = submissions.find((settled) => settled.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    const done = submissions.flatMap((settled) => (settled.status === 'fulfilled' ? [settled.value] : []));
    return Math.max(lines.length === 0 || lines.length === room ? LOOK_EVERY_MS : NOW, pauseAfter(done));
  }

  /** Notes the task of a line, or cancels it if the line ended while it was being accepted: nobody would see its image. */
  private async keep(
    batch: Batch,
    line: ClaimedLine,
    task: { readonly taskId: string; readonly format?: LineFormat },
  ): Promise<void> {
    if (await this.steps.submitted(batch.id, line, task)) return;
    await this.cancelTask.cancel(allTasksOf(batch.accountId), task.taskId);
  }

  /** Undefined if its key may make no requests any more: then its lines have ended. */
  private async admitted(batch: Batch, scope: 'images' | 'chat'): Promise<Caller | undefined> {
    const caller = await this.callerOf(batch, scope);
    if (!(caller instanceof AppError)) return caller;
    if (caller.status >= 500) throw caller;
    await this.endUnsubmitted(batch, refusalOf(caller, newRequestId()));
    return undefined;
  }

  /** Whoever the key's requests count for now, or why it may make none. */
  private async callerOf({ apiKeyId, orderedBy }: Batch, scope: 'images' | 'chat'): Promise<Caller | AppError> {
    try {
      const caller = await this.keys.callerOf(apiKeyId);
      assertScope(caller, scope);
      return orderedBy === null ? caller : { ...caller, personId: orderedBy };
    } catch (error) {
      if (error instanceof AppError) return error;
      throw error;
    }
  }

  /** Ends what has not started, and cancels what has. */
  private async stop(batch: Batch, early: LineOutcome): Promise<void> {
    await this.endUnsubmitted(batch, early);
    const scope = allTasksOf(batch.accountId);
    for (const [index, { taskId }] of (await this.steps.running(batch.id)).entries()) {
      await this.cancelTask.cancel(scope, taskId);
      if ((index + 1) % CANCELLED_AT_ONCE === 0) await this.steps.goOn(batch.id);
    }
  }

  /** Ends the lines without a task. A line that a killed process had claimed may have one. */
  private async endUnsubmitted(batch: Batch, outcome: LineOutcome): Promise<void> {
    await this.steps.endWaiting(batch.id, outcome);
    const ends: LineEnd[] = [];
    for (const line of await this.steps.claimed(batch.id)) {
      const taskId = await this.tasks.ofKey(batch.accountId, lineKey(batch, line));
      if (taskId === undefined) ends.push({ line: line.line, taskId: null, outcome });
      else await this.keep(batch, line, { taskId });
    }
    await this.steps.end(batch.id, ends);
  }
}

/** How long lines that were refused for now are to wait, in ms. One that has no task stands in nobody's way. */
function pauseAfter(submissions: readonly Submission[]): number {
  const refused = submissions.flatMap((one) => ('retryMs' in one ? [one] : []));
  const waiting = refused.length < submissions.length ? refused.filter(({ hasNoTask }) => !hasNoTask) : refused;
  return Math.max(refused.length === 0 ? NOW : LOOK_EVERY_MS, ...waiting.map(({ retryMs }) => retryMs));
}

/** What the ledger has for an ended task; nothing if its price is not known. */
function spentOn({ status, cost }: Task): number {
  return status === 'failed' ? 0 : (cost?.settled ?? cost?.reserved ?? 0);
}

/** Others came first until its deadline, which is no answer to its line. */
function neverStarted({ startedAt, error }: Task): boolean {
  return startedAt === null && error?.code === 'generation_timeout';
}
