import { Injectable } from '@nestjs/common';
import { WaitingTasks } from '#answers/waiting-tasks.js';
import type { Session } from '#accounts/session-store.js';
import { BASE_VALUES, usualValues, valueProblem } from '#contract/accepted-values.js';
import { assertFields } from '#contract/field-rule.js';
import { TaskEstimates } from '#tasks/admission/task-estimates.js';
import { taskOwnerOf } from '../../auth/caller.js';
import { QuoteImage } from '../../images/quote-image.js';
import { frameOf } from '../../images/decide-order.js';
import { ImageModels } from '../../images/image-models.js';
import { ConsoleCaller } from '../tasks/console-caller.js';
import type { ConsoleQuoteView } from './dto/playground-views.dto.js';
import type { QuoteBody } from './dto/quote-body.dto.js';

/** Quotes the cost and time of an image before it is ordered. */
@Injectable()
export class ConsoleQuotes {
  constructor(
    private readonly models: ImageModels,
    private readonly quotes: QuoteImage,
    private readonly callers: ConsoleCaller,
    private readonly estimates: TaskEstimates,
    private readonly waiting: WaitingTasks,
  ) {}

  /** Throws the AppErrors of the order itself: `model_not_found`, `invalid_value`, `integer_above_max_value`. */
  async quote(session: Session, asked: QuoteBody): Promise<ConsoleQuoteView> {
    const { name = asked.model, accepts = BASE_VALUES } = this.models.modelOf(asked) ?? {};
    assertFields(asked, (field, value) => valueProblem(accepts, asked.action, field, value));
    const { resolution, quality = null, n = 1 } = asked;
    const frame = frameOf(asked.size ?? usualValues(accepts, asked.action).size, resolution ? { resolution } : {});
    const order = { model: name, options: { ...frame, quality, n } };
    const caller = await this.callers.of(session);
    const needs = { images: asked.action === 'edit' ? 1 : 0, mask: false, n };
    const [quote, ms, [reason]] = await Promise.all([
      this.quotes.of(caller, { ...order, cost: this.models.costOf(name, order.options) }),
      this.estimates.forecast(taskOwnerOf(caller), order),
      this.waiting.reasonsOf([{ ...needs, model: name, retryAt: null }]),
    ]);
    const waiting = reason === undefined || reason.for === 'line' ? null : reason;
    // Nobody knows how long an obstacle lasts.
    const isKnown = ms !== undefined && waiting === null;
    return { ...quote, waiting, ...(isKnown ? { estimated_time: Math.max(1, Math.ceil(ms / 1_000)) } : {}) };
  }
}
