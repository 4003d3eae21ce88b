import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CatalogSource } from '#catalog/catalog-source.js';
import { quoteResponse, type QuoteResponse } from '#contract/cost-view.js';
import { ignoredParamsHeader } from '#contract/request-fields.js';
import { BudgetRepository } from '#billing/budget.repository.js';
import { leftOf } from '#billing/budgets.js';
import { billedTier, type PricedOptions, type TaskCost } from '#billing/quote.js';
import { callerOf } from '../auth/api-key.guard.js';
import type { Caller } from '../auth/caller.js';
import { goneSignal } from '../common/gone-signal.js';
import { CheckImage } from './check-image.js';

/** Whose budgets count. */
type Payer = Pick<Caller, 'accountId' | 'keyId'>;

/** What a price is asked for. */
export interface PricedOrder {
  readonly model: string;
  readonly options: PricedOptions;
  /** Null when nothing is charged. */
  readonly cost: TaskCost | null;
}

/** Says what a request would cost: it is checked like any other, and nothing of it is kept. */
@Injectable()
export class QuoteImage {
  constructor(
    private readonly check: CheckImage,
    private readonly budgets: BudgetRepository,
    private readonly source: CatalogSource,
  ) {}

  /** Throws AppError as the request itself would; `insufficient_quota` is told in the quote instead. */
  async quote(
    form: 'generation' | 'edit',
    request: FastifyRequest,
    reply: FastifyReply,
    asynchronous: boolean,
  ): Promise<void> {
    const checked = await this.check[form](request, asynchronous, goneSignal(reply));
    await checked.upload.discard();
    const ignored = ignoredParamsHeader(checked.ignored);
    if (ignored !== undefined) void reply.header('x-ignored-params', ignored);
    void reply
      .header('cache-control', 'no-store')
      .code(200)
      .send(await this.of(callerOf(request), checked.command));
  }

  /** What the caller would pay for an order now, and whether the budgets allow it. */
  async of({ accountId, keyId }: Payer, { model, options, cost }: PricedOrder): Promise<QuoteResponse> {
    const left = leftOf(await this.budgets.find([accountId, keyId]));
    const { pixels, quality } = options;
    const size = pixels === null ? 'auto' : `${pixels.width}x${pixels.height}`;
    const { currency } = this.source.current;
    return quoteResponse(
      { model, size, resolution: billedTier(options), quality: quality ?? 'auto' },
      cost === null
        ? { reserved: 0, currency, exact: true }
        : { ...cost, exact: cost.reserved !== null && cost.tokens === undefined },
      left,
    );
  }
}
