import { Injectable } from '@nestjs/common';
import { CatalogSource } from '#catalog/catalog-source.js';
import type { TokenPrices } from '#catalog/catalog.js';
import { refusalOf } from '#billing/budget-refusal.js';
import { ChatReserves } from '#billing/chat-reserves.js';
import { Logger } from '#telemetry/logger.js';
import { overloaded } from '#contract/unavailable.js';
import type { Caller } from '../auth/caller.js';
import { reserveOf } from './chat-estimate.js';
import { ChatConfig } from './chat.config.js';
import type { ChatRequest } from './chat-request.js';

/** How long after a chat's time limit its usage may still be written, before its reservation expires. */
const WRITTEN_LATE_MS = 600_000;

/**
 * Rejects chats whose budget is used up, and reserves the estimated cost of the others until their cost is known.
 * However many start at once, a budget is exceeded at most by the last of them, plus the cost above their estimates.
 *
 * A reservation ends with the chat's row: the insert into `chat_usage` releases it (trigger `chats_count`). Where no row
 * follows, `release` does, or ExpireChatUsage once it has expired.
 */
@Injectable()
export class ChatBudget {
  constructor(
    private readonly reserves: ChatReserves,
    private readonly catalogs: CatalogSource,
    private readonly config: ChatConfig,
    private readonly logger: Logger,
  ) {}

  /**
   * `prices`: null = free, undefined = unknown. Without a budget, nothing is checked. Throws AppError:
   * `insufficient_quota`, `model_not_allowed`, `server_is_overloaded` when the database does not answer.
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
    const { endUser, tags } = chat;
    await this.reserves
      .reserve({ requestId, accountId, keyId, endUser, tags }, amount, lifeMs)
      .catch((error: unknown) => {
        throw refusalOf(error, this.catalogs.current.currency) ?? overloaded(error);
      });
  }

  /** Releases the reservation of a chat that was never sent. If that fails, the reservation expires. */
  release(requestId: string, caller: Caller): void {
    if (!caller.budgeted) return;
    this.reserves.release(requestId).catch((error: unknown) => {
      this.logger.warn('chat.reserve_not_released', { requestId, error });
    });
  }
}
