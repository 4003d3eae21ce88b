import { Injectable } from '@nestjs/common';
import type { QueueCaller } from '#queue/fair-order.js';
import { DrainedProviders } from '#routing/provider-switches.js';
import type { CallPermit, CallRejection } from '#routing/call-permit.js';
import type { CallOption } from '#routing/limiter-state.js';
import { ProviderLimiter } from '#routing/provider-limiter.js';

/** A permit at a server without limits, or for a call that does not count in them. */
const UNCOUNTED: CallPermit = { end: () => undefined, park: () => undefined };

/** Permits a call without counting it. */
export function uncounted<Option>(option: Option): CallPermit & { readonly option: Option } {
  return { option, ...UNCOUNTED };
}

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

  readonly isDrained = (server: CallOption['provider']): boolean => this.drained.has(server);

  /**
   * Chooses one of the options, which are of one provider, and of which there is at least one. `callId` identifies the
   * chat across all of its keys. It takes its caller's turn at once or not at all, because a chat can't wait in line.
   * Never throws.
   */
  async enter<Option extends CallOption>(
    options: readonly [Option, ...Option[]],
    callId: string,
    caller: QueueCaller,
  ): Promise<(CallPermit & { readonly option: Option }) | CallRejection> {
    const [first] = options;
    const { concurrency, startsPerMinute } = first.provider.limits;
    if (concurrency === undefined && startsPerMinute === undefined) return uncounted(first);
    return this.limiter.enter(options, callId, { caller });
  }
}
