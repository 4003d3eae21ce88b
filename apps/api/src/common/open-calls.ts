import { Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { readClosedConnections, type OpenCall } from '#tasks/intake/open-call.js';
import { goneSignal } from './gone-signal.js';

/** How often to look whether this process was paused, and how late that look may be without a pause, in ms. */
const EVERY_MS = 100;
const PAUSE_MS = 100;
/** Pauses to remember: on a busy machine, short ones follow a long one. */
const MAX_PAUSES = 32;
/** For how long after a pause connections may turn out to have been closed during it, in ms. */
const CATCHING_UP_MS = 1_000;

/** Times in ms since the process started. */
interface Pause {
  readonly from: number;
  readonly to: number;
}

/**
 * Knows how old requests are. One that arrived while this process was paused (a container that is frozen, a machine that
 * swaps) is read after the pause, and its client may have sent it again elsewhere in the meantime.
 */
@Injectable()
export class OpenCalls implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private timer: NodeJS.Timeout | undefined;
  private looked = performance.now();
  /** The latest first. */
  private readonly pauses: Pause[] = [];

  onApplicationBootstrap(): void {
    this.looked = performance.now();
    this.timer = setInterval(() => {
      this.look();
    }, EVERY_MS).unref();
  }

  beforeApplicationShutdown(): void {
    clearInterval(this.timer);
  }

  /** The call that a reply belongs to, for what depends on whether its caller is still there. */
  of(reply: FastifyReply): OpenCall {
    this.look();
    const arrived = this.earliest(performance.now() - reply.elapsedTime);
    return { gone: goneSignal(reply), ageMs: () => performance.now() - arrived };
  }

  /**
   * Returns once this process knows which of its callers left during a pause that has just ended. Without one, it knows
   * at once.
   */
  async catchUp(): Promise<void> {
    this.look();
    const [last] = this.pauses;
    if (last !== undefined && performance.now() - last.to < CATCHING_UP_MS) await readClosedConnections();
  }

  /**
   * The earliest time at which a request may have arrived that was read at this one: what arrives during a pause is read
   * after it, for about as long as the pause took.
   */
  private earliest(read: number): number {
    let arrived = read;
    for (const { from, to } of this.pauses) if (arrived >= from && arrived < to + (to - from)) arrived = from;
    return arrived;
  }

  private look(): void {
    const now = performance.now();
    if (now - this.looked > EVERY_MS + PAUSE_MS) {
      this.pauses.unshift({ from: this.looked, to: now });
      this.pauses.length = Math.min(this.pauses.length, MAX_PAUSES);
    }
    this.looked = now;
  }
}
