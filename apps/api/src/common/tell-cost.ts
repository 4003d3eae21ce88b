import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { decimalOf } from '#contract/money.js';
import { DatabaseConfig } from '#database/database.config.js';
import type { TaskSummary } from '#tasks/row/task.js';
import { ToldCosts } from '#tasks/states/told-costs.js';
import { Logger } from '#telemetry/logger.js';

/** What LiteLLM reads, instead of computing a cost of its own, from whatever answers it. */
const HEADER = 'x-litellm-response-cost';
/** How long an answer waits, as a share of the time limit of a query: the image matters more than its price. */
const WAIT_SHARE = 0.1;

/** Tells what a completed task cost, in a header of the answer that delivers its images. */
@Injectable()
export class TellCost {
  private readonly waitMs: number;

  constructor(
    private readonly told: ToldCosts,
    private readonly logger: Logger,
    { queryTimeoutMs }: DatabaseConfig,
  ) {
    this.waitMs = WAIT_SHARE * queryTimeoutMs;
  }

  /**
   * Sets the header to the settled cost in US dollars. Without effect for a task that has not completed, whose cost is
   * unknown or in another currency, or was told before. Never fails.
   */
  async tell(task: TaskSummary, reply: FastifyReply): Promise<void> {
    const micros = task.status === 'completed' ? dollarMicrosOf(task.cost) : undefined;
    if (micros === undefined || (micros > 0 && !(await this.isFirst(task.id)))) return;
    void reply.header(HEADER, decimalOf(micros));
    if (micros === 0) return;
    const closed = (): void => {
      if (!reply.raw.writableFinished) this.takeBack(task.id);
    };
    if (reply.raw.destroyed) closed();
    else reply.raw.once('close', closed);
  }

  private async isFirst(id: string): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(resolve, this.waitMs, false);
    });
    let isLate = false;
    const first = this.told.tell(id).then(
      (isFirst) => {
        // The answer has left without it, so a later one is to tell it.
        if (isFirst && isLate) this.takeBack(id);
        return isFirst;
      },
      (error: unknown) => this.failed(error),
    );
    try {
      const isFirst = await Promise.race([first, late]);
      isLate = true;
      return isFirst;
    } finally {
      clearTimeout(timer);
    }
  }

  private takeBack(id: string): void {
    this.told.takeBack(id).catch((error: unknown) => this.failed(error));
  }

  private failed(error: unknown): false {
    this.logger.warn('cost.not_told', { error });
    return false;
  }
}

/** In millionths of a dollar; 0 where nothing is charged, undefined where it is unknown, or no dollars. */
function dollarMicrosOf(cost: TaskSummary['cost']): number | undefined {
  if (cost === null) return 0;
  return cost.currency === 'USD' ? (cost.settled ?? undefined) : undefined;
}
