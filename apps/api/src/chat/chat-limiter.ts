import { Injectable } from '@nestjs/common';
import type { ProviderEntry } from '#providers/provider-entry.js';
import type { QueueCaller } from '#queue/fair-order.js';
import { DrainedProviders } from '#routing/provider-switches.js';
import type { CallPermit, CallRejection } from '#routing/call-permit.js';
import { ProviderLimiter } from '#routing/provider-limiter.js';

/** A permit for a provider without limits, or for a call that does not count in them. */
export const UNCOUNTED: CallPermit = { end: () => undefined, park: () => undefined };

/**
 * Decides which chats may start: none at a drained provider, and within a provider's limits, which its images share. A
 * provider without limits needs no call to Redis.
 */
@Injectable()
export class ChatLimiter {
  constructor(
    private readonly limiter: ProviderLimiter,
    private readonly drained: DrainedProviders,
  ) {}

  readonly isDrained = (provider: string): boolean => this.drained.has(provider);

  /**
   * `callId` identifies the chat across all of its keys. It takes its caller's turn at once or not at all, because a
   * chat can't wait in line. Never throws.
   */
  async enter(
    provider: ProviderEntry,
    keyName: string,
    callId: string,
    caller: QueueCaller,
  ): Promise<CallPermit | CallRejection> {
    const { concurrency, startsPerMinute } = provider.limits;
    if (concurrency === undefined && startsPerMinute === undefined) return UNCOUNTED;
    return this.limiter.enter(provider, keyName, callId, { caller });
  }
}
