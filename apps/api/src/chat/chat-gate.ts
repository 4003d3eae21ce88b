import { Injectable } from '@nestjs/common';
import type { ProviderEntry } from '#providers/provider-entry.js';
import { DrainedProviders } from '#routing/drained-providers.js';
import type { GatePass, GateRefusal } from '#routing/gate.js';
import { ProviderGate } from '#routing/provider-gate.js';

/** The right to a call that nobody counts. */
const UNCOUNTED: GatePass = { end: () => undefined, park: () => undefined };

/**
 * Which chats may begin: none at a drained provider, and at one with limits only within them, together with its
 * pictures. Where there are no limits nobody outside of this process is asked, so that they cost a chat nothing.
 */
@Injectable()
export class ChatGate {
  constructor(
    private readonly gate: ProviderGate,
    private readonly drained: DrainedProviders,
  ) {}

  readonly isDrained = (provider: string): boolean => this.drained.has(provider);

  /** `callId` stands for the chat, whichever keys it is tried with. Never throws. */
  async enter(provider: ProviderEntry, keyName: string, callId: string): Promise<GatePass | GateRefusal> {
    const { concurrency, startsPerMinute } = provider.limits;
    if (concurrency === undefined && startsPerMinute === undefined) return UNCOUNTED;
    return this.gate.enter(provider, keyName, callId);
  }
}
