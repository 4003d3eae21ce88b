import { Injectable } from '@nestjs/common';
import type { TokenPrices } from '#catalog/catalog.js';
import { refusalOf } from '#billing/budget-refusal.js';
import { ChatReserves } from '#billing/chat-reserves.js';
import { overloaded } from '#tasks/refusals.js';
import { Logger } from '#telemetry/logger.js';
import type { Caller } from '../auth/caller.js';
import { reserveOf } from './chat-estimate.js';
import { ChatConfig } from './chat.config.js';
import type { ChatRequest } from './chat-request.js';

/** How long after its last moment a chat may wait to be written down before what was set aside for it is given back. */
const WRITTEN_LATE_MS = 600_000;

/**
 * Turns chats away whose budget is used up, and sets aside what the others may cost until that is known: however many
 * begin at a time, a budget is exceeded by no more than the last of them, and by what they cost above their estimates.
 */
@Injectable()
export class ChatBudget {
  constructor(
    private readonly reserves: ChatReserves,
    private readonly config: ChatConfig,
    private readonly logger: Logger,
  ) {}

  /**
   * `prices` are null when nothing is charged, undefined when they are not known. Who has no budget is not asked about.
   * Throws AppError: `insufficient_quota`, `model_not_allowed`, `server_is_overloaded` when the database does not answer.
   */
  async admit(
    requestId: string,
    caller: Caller,
    chat: ChatRequest,
    prices: TokenPrices | null | undefined,
  ): Promise<void> {
    if (!caller.budgeted || prices === null) return;
    const amount = prices === undefined ? null : reserveOf(chat, prices);
    const lifeMs = this.config.totalMs + this.config.afterHangupMs + WRITTEN_LATE_MS;
    const { accountId, keyId } = caller;
    await this.reserves.reserve({ requestId, accountId, keyId }, amount, lifeMs).catch((error: unknown) => {
      throw refusalOf(error) ?? overloaded(error);
    });
  }

  /** Gives back what was set aside for a chat that nobody was asked for. What fails is given back in time. */
  release(requestId: string, caller: Caller): void {
    if (!caller.budgeted) return;
    this.reserves.release(requestId).catch((error: unknown) => {
      this.logger.warn('chat.reserve_not_released', { requestId, error });
    });
  }
}
