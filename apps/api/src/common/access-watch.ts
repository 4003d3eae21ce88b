import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { setImmediate } from 'node:timers/promises';
import { AppError } from '#contract/app-error.js';

/** How often open responses are checked; a key may be cached for 5 s more. */
const RECHECK_MS = 2_000;
/** How many are checked in one turn of the event loop: thousands of callers may wait for images. */
const AT_ONCE = 100;

/** What is told, more than once if it takes long to end. */
interface Watched {
  abort(reason: AppError): void;
}

/**
 * Ends responses that stay open when their caller may no longer have them: the key was revoked, has expired or sees
 * fewer tasks now, the session has ended, or the account was disabled.
 */
@Injectable()
export class AccessWatch implements OnApplicationShutdown {
  private readonly open = new Map<Watched, FastifyRequest>();
  private checking = false;
  private readonly timer = setInterval(() => void this.check(), RECHECK_MS).unref();

  /** Aborts `call` with the AppError that the request would be refused with now. Returns a function that ends it. */
  watch(request: FastifyRequest, call: Watched): () => void {
    this.open.set(call, request);
    return () => this.open.delete(call);
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
  }

  private async check(): Promise<void> {
    if (this.checking) return;
    this.checking = true;
    const open = [...this.open];
    for (let at = 0; at < open.length; at += AT_ONCE) {
      await Promise.all(open.slice(at, at + AT_ONCE).map(([call, request]) => this.checkOne(call, request)));
      await setImmediate();
    }
    this.checking = false;
  }

  private async checkOne(call: Watched, request: FastifyRequest): Promise<void> {
    try {
      await request.recheckAccess?.();
    } catch (error) {
      // A database that does not answer refuses new requests, but ends none that is running.
      if (error instanceof AppError && error.status < 429) call.abort(error);
    }
  }
}
