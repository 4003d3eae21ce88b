import { Inject, Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import { setTimeout as delay } from 'node:timers/promises';
import { BatchSteps, CALL_LEASE_MS } from '#batches/batch-steps.repository.js';
import type { Batch, ClaimedLine, LineOutcome } from '#batches/batch.js';
import { AppError } from '#contract/app-error.js';
import { StorageError, type ObjectStore } from '#storage/object-store.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import { newRequestId } from '#tasks/row/task-id.js';
import { Logger } from '#telemetry/logger.js';
import type { Caller } from '../auth/caller.js';
import { LineCallers } from '../auth/line-callers.js';
import { appErrorOf } from '../common/framework-error.js';
import { answerText } from './answer-text.js';
import { IN_DOUBT, refusalOf } from './line-outcome.js';
import { readLine } from './read-line.js';

/** Most chats of a batch that are under way; each may hold its line and its response, of 1 MB each. */
const AT_ONCE = 8;
/** Answers that say nothing about the request: it is sent again later, if no provider may have answered it. */
const STATUSES_TO_RETRY: readonly number[] = [429, 503];
/** How often a batch of chats takes its next step, in ms. */
const LOOK_EVERY_MS = 500;
/** How often, and after how many ms, the end of a chat is written again while the database is away. */
const END_TRIES = 10;
const END_AGAIN_MS = 3_000;
/** How long a batch waits after a chat that was refused for now, in ms. */
const REFUSED_MS = 5_000;

/**
 * Passes the chats of batches on, each through all that a request over HTTP passes: this process sends it to itself,
 * without a connection. Before that, the row of a line says that it is called, and from then on it is never sent again,
 * unless this process knows that no provider can have answered it. A call goes on beside the steps of its batch, with a
 * lease; where that ends, the line has ended in doubt.
 */
@Injectable()
export class CallChats implements BeforeApplicationShutdown {
  private readonly open = new Map<string, { readonly batchId: string; readonly line: number; ended: Promise<void> }>();
  private readonly restUntil = new Map<string, number>();
  private timer: NodeJS.Timeout | undefined;
  private stopping = false;

  constructor(
    private readonly steps: BatchSteps,
    private readonly host: HttpAdapterHost,
    private readonly callers: LineCallers,
    @Inject(OBJECT_STORE) private readonly store: ObjectStore,
    private readonly logger: Logger,
  ) {}

  /** Chats in progress are aborted at the end of the grace time, like those over HTTP. */
  async beforeApplicationShutdown(): Promise<void> {
    this.stopping = true;
    while (this.open.size > 0) await Promise.all([...this.open.values()].map(({ ended }) => ended));
    clearInterval(this.timer);
  }

  /** Ends the chats of processes that are gone. */
  async settle({ id }: Batch): Promise<void> {
    await this.steps.endInDoubt(id, IN_DOUBT);
  }

  /** Passes on as many chats as there is room for; milliseconds until there may be more to do. */
  async start(batch: Batch, caller: Caller): Promise<number> {
    const now = Date.now();
    for (const [id, until] of this.restUntil) if (until <= now) this.restUntil.delete(id);
    const until = this.restUntil.get(batch.id);
    if (until !== undefined) return until - now;
    const room = AT_ONCE - (await this.steps.countCalled(batch.id));
    if (room <= 0 || this.stopping) return LOOK_EVERY_MS;
    for (const line of await this.steps.call(batch.id, room)) await this.begin(batch, line, caller);
    return LOOK_EVERY_MS;
  }

  private async begin(batch: Batch, line: ClaimedLine, caller: Caller): Promise<void> {
    // The shutdown may have found nothing to wait for already.
    if (this.stopping) {
      await this.steps.putOff(batch.id, line);
      return;
    }
    const name = `${batch.id} ${line.line}`;
    const ended = this.pass(batch, line, caller)
      // Its lease ends, and with it the line.
      .catch((error: unknown) => this.logger.warn('batch.chat_lost', { jobId: batch.id, error }))
      .finally(() => {
        this.open.delete(name);
        if (this.open.size > 0) return;
        clearInterval(this.timer);
        this.timer = undefined;
      });
    this.open.set(name, { batchId: batch.id, line: line.line, ended });
    this.timer ??= setInterval(() => void this.renew(), CALL_LEASE_MS / 6);
  }

  private async renew(): Promise<void> {
    const lines = new Map<string, number[]>();
    for (const { batchId, line } of this.open.values()) lines.set(batchId, [...(lines.get(batchId) ?? []), line]);
    for (const [batchId, ofBatch] of lines) {
      await this.steps.renewCalls(batchId, ofBatch).catch((error: unknown) => {
        this.logger.warn('batch.chats_not_renewed', { jobId: batchId, error });
      });
    }
  }

  private async pass(batch: Batch, line: ClaimedLine, caller: Caller): Promise<void> {
    const call = { batchId: batch.id, mayBeBought: false };
    let outcome: LineOutcome | undefined;
    try {
      outcome = await this.send(batch, line, { ...caller, line: call });
    } catch (error) {
      // The file can't be read now, so nothing was sent.
      if (!(error instanceof StorageError)) outcome = refusalOf(appErrorOf(error), newRequestId());
    }
    const isForNow = outcome === undefined || STATUSES_TO_RETRY.includes(outcome.response?.status_code ?? 0);
    if (isForNow && !call.mayBeBought) {
      this.restUntil.set(batch.id, Date.now() + REFUSED_MS);
      await this.steps.putOff(batch.id, line);
    } else await this.end(batch, line, isForNow ? IN_DOUBT : outcome);
  }

  /** Tries for as long as its lease may last: the response is nowhere else. */
  private async end({ id }: Batch, { line }: ClaimedLine, outcome: LineOutcome = IN_DOUBT): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        await this.steps.end(id, [{ line, taskId: null, outcome }]);
        return;
      } catch (error) {
        if (tries === END_TRIES || this.stopping) throw error;
        await delay(END_AGAIN_MS);
      }
    }
  }

  private async send(batch: Batch, line: ClaimedLine, caller: Caller): Promise<LineOutcome> {
    const body = await readLine(this.store, batch, line);
    if ('stream' in body && body.stream === true) {
      throw new AppError('invalid_value', 'stream must be false: a batch has no streams.', { param: 'stream' });
    }
    const server = this.host.httpAdapter.getInstance<FastifyInstance>();
    return await this.callers.during(caller, async (authorization) => {
      const headers = { authorization, 'content-type': 'application/json' };
      const request = { method: 'POST', url: batch.endpoint, headers, payload: JSON.stringify(body) } as const;
      const response = await server.inject({ ...request, payloadAsStream: true });
      const { statusCode, headers: sent } = response;
      try {
        const text = await answerText(response.stream());
        return {
          response: { status_code: statusCode, request_id: String(sent['x-request-id']), body: text },
          error: null,
        };
      } finally {
        // Nobody reads what is left of a response that can't be kept.
        response.raw.res.destroy();
      }
    });
  }
}
