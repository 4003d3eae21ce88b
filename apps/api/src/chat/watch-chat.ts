import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { unavailable } from '#contract/unavailable.js';
import { AccessWatch } from '../common/access-watch.js';
import { Draining } from '../common/draining.js';
import { ChatConfig } from './chat.config.js';

/** How many chats of a process may be read on after their callers disconnected. */
const MAX_READ_ON = 64;

/** The reason of both signals after the caller disconnected. */
const DISCONNECTED = new Error('the caller disconnected');

/** The signals of a chat in progress. */
export interface ChatSignals {
  /** Aborted when the call to the provider must end. */
  readonly signal: AbortSignal;
  /** Aborted when the caller disconnects or may no longer chat: then no other provider is called. */
  readonly gone: AbortSignal;
}

/** Ends chats early: at their time limit, at shutdown, and when their callers disconnect or may no longer chat. */
@Injectable()
export class WatchChat {
  private readOn = 0;

  constructor(
    private readonly draining: Draining,
    private readonly access: AccessWatch,
    private readonly config: ChatConfig,
  ) {}

  /**
   * Watches a chat while `work` runs. `mayReadOn`: whether its provider may be read on for a while after the caller
   * disconnected, to learn what the chat costs. Throws what `work` throws; at shutdown, AppError
   * `server_is_overloaded`.
   */
  async during(
    request: FastifyRequest,
    reply: FastifyReply,
    mayReadOn: boolean,
    work: (signals: ChatSignals) => Promise<void>,
  ): Promise<void> {
    const call = new AbortController();
    const gone = new AbortController();
    const { totalMs, afterHangupMs } = this.config;

    const timeUp = (): void => call.abort(tooSlow());
    const totalTimer = setTimeout(timeUp, totalMs);

    let hangupTimer: NodeJS.Timeout | undefined;
    const hangUp = (): void => {
      if (reply.raw.writableFinished || gone.signal.aborted) return;
      gone.abort(DISCONNECTED);
      if (mayReadOn && afterHangupMs > 0 && this.readOn < MAX_READ_ON) {
        this.readOn++;
        hangupTimer = setTimeout(() => call.abort(DISCONNECTED), afterHangupMs);
      } else call.abort(DISCONNECTED);
    };
    reply.raw.once('close', hangUp);
    if (reply.raw.destroyed) hangUp();

    const loseAccess = (reason: AppError): void => {
      gone.abort(reason);
      call.abort(reason);
    };
    const endAccess = this.access.watch(request, { abort: loseAccess });

    // Aborts without a reason of ours.
    this.draining.hold(call);
    try {
      await work({ signal: call.signal, gone: gone.signal });
    } catch (error) {
      throw call.signal.aborted && !(error instanceof AppError) && !reply.raw.destroyed ? stopping(error) : error;
    } finally {
      this.draining.release(call);
      endAccess();
      reply.raw.off('close', hangUp);
      clearTimeout(totalTimer);
      clearTimeout(hangupTimer);
      if (hangupTimer !== undefined) this.readOn--;
    }
  }
}

function tooSlow(): AppError {
  return new AppError('chat_upstream_error', 'The provider did not respond in time.');
}

function stopping(cause: unknown): AppError {
  return unavailable('The service is being restarted. Please try again.', {
    retryAfter: 1,
    cause,
  });
}
