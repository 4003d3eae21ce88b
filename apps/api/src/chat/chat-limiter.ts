import { Injectable } from '@nestjs/common';
import type { ProviderEntry } from '#providers/provider-entry.js';
import { DrainedProviders } from '#routing/provider-switches.js';
import type { CallPermit, CallRejection } from '#routing/limiter.js';
import { ProviderLimiter } from '#routing/provider-limiter.js';

/** The right to a call that nobody counts. */
const UNCOUNTED: CallPermit = { end: () => undefined, park: () => undefined };

/**
 * Which chats may begin: none at a drained provider, and at one with limits only within them, together with its
 * images. Where there are no limits nobody outside of this process is asked, so that they cost a chat nothing.
 */
@Injectable()
export class ChatLimiter {
  constructor(
    private readonly limiter: ProviderLimiter,
    private readonly drained: DrainedProviders,
  ) {}

  readonly isDrained = (provider: string): boolean => this.drained.has(provider);

  /** `callId` stands for the chat, whichever keys it is tried with. Never throws. */
  async enter(provider: ProviderEntry, keyName: string, callId: string): Promise<CallPermit | CallRejection> {
    const { concurrency, startsPerMinute } = provider.limits;
    if (concurrency === undefined && startsPerMinute === undefined) return UNCOUNTED;
    return this.limiter.enter(provider, keyName, callId);
  }
}
