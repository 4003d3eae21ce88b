import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { CatalogSource } from '#catalog/catalog-source.js';
import { quoteResponse, type QuoteResponse } from '#contract/cost-view.js';
import { ignoredParamsHeader } from '#contract/request-fields.js';
import { BudgetRepository } from '#billing/budget.repository.js';
import { remainingOf } from '#billing/budgets.js';
import { billedTier, type PricedOptions, type TaskCost } from '#billing/quote.js';
import type { Caller } from '../auth/caller.js';
import { goneSignal } from '../common/gone-signal.js';
import { AcceptImage } from './accept-image.js';
import type { Ask } from './asked.js';

/** The account and key whose budgets apply. */
type Payer = Pick<Caller, 'accountId' | 'keyId'>;

/** The order to be quoted. */
export interface PricedOrder {
  readonly model: string;
  readonly options: PricedOptions;
  /** Null when it is free. */
  readonly cost: TaskCost | null;
}

/** Quotes a request: it is validated like any other, with its images, and nothing of it remains stored. */
@Injectable()
export class QuoteImage {
  constructor(
    private readonly acceptImage: AcceptImage,
    private readonly budgets: BudgetRepository,
    private readonly source: CatalogSource,
  ) {}

  /** Throws the AppErrors of the request itself, except `insufficient_quota`, which the quote reports. */
  async quote(ask: Ask, caller: Caller, reply: FastifyReply): Promise<void> {
    const { quote, ignored } = await this.quoted(ask, caller, goneSignal(reply));
    const ignoredParams = ignoredParamsHeader(ignored);
    if (ignoredParams !== undefined) void reply.header('x-ignored-params', ignoredParams);
    void reply.header('cache-control', 'no-store').code(200).send(quote);
  }

  /** The quote, and the names of fields that have no effect. Throws like `quote`. */
  async quoted(
    ask: Ask,
    caller: Caller,
    gone: AbortSignal,
  ): Promise<{ quote: QuoteResponse; ignored: readonly string[] }> {
    const { command, upload, ignored } = await this.acceptImage.prepare(ask, caller, gone);
    await upload.discard();
    return { quote: await this.of(caller, command), ignored };
  }

  /** The current cost of an order for the caller, and whether the budgets allow it. */
  async of({ accountId, keyId }: Payer, { model, options, cost }: PricedOrder): Promise<QuoteResponse> {
    const left = remainingOf(await this.budgets.find([accountId, keyId]));
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
