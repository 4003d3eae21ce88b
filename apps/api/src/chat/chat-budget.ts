import type { TokenPrices } from '#catalogue/catalogue.js';
import type { Database } from '#database/database.js';
import { budgetExceeded, priceUnknown } from '#money/budget-refusal.js';
import { findBudgets } from '#money/budgets.js';
import { overloaded } from '#tasks/refusals.js';
import type { Caller } from '../auth/caller.js';

/**
 * Turns chats away whose budget is used up. What a chat costs is known only when it is over, so those in flight at that
 * moment still count on top: a budget is exceeded by no more than they cost.
 */
export class ChatBudget {
  constructor(private readonly database: Database) {}

  /**
   * `prices` are null when nothing is charged, undefined when they are not known. Who has no budget is not asked about.
   * Throws AppError: `insufficient_quota`, `model_not_allowed`, `server_is_overloaded` when the database does not answer.
   */
  async admit(caller: Caller, prices: TokenPrices | null | undefined): Promise<void> {
    if (!caller.budgeted || prices === null) return;
    const budgets = await findBudgets(this.database.pool, [caller.accountId, caller.keyId]).catch((error: unknown) => {
      throw overloaded(error);
    });
    for (const { owner, period, limit, spent } of budgets) {
      if (prices === undefined) throw priceUnknown(owner);
      if (spent >= limit) throw budgetExceeded({ owner, period, left: 0 });
    }
  }
}
