import { Injectable } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import { unavailable } from '#contract/unavailable.js';
import { FailedTasks, isWorthRetrying, type FailedOrder } from '#tasks/reading/failed-tasks.js';
import { RetryTask, type Payer } from './retry-task.js';

/** Number of concurrent retries, and the time after which no more are started. */
const AT_ONCE = 4;
const TIME_MS = 30_000;

interface Retried {
  readonly id: string;
  readonly newId: string;
  readonly accountId: string;
}

/** A failed task that is not retried, and the reason. */
export interface NotRetried {
  readonly id: string;
  readonly reason: AppError;
}

/** The results of retrying failed tasks. */
export interface RetryOutcome {
  readonly retried: readonly Retried[];
  readonly refused: readonly NotRetried[];
}

/**
 * Repeats the orders of failed tasks for their original accounts and keys. The database allows one retry per task,
 * however many requests there are.
 */
@Injectable()
export class RetryFailedTasks {
  constructor(
    private readonly failed: FailedTasks,
    private readonly again: RetryTask,
  ) {}

  /** The orders that would be retried now, and why the other tasks would not. */
  async preview(ids: readonly string[]): Promise<{ orders: FailedOrder[]; refused: NotRetried[] }> {
    const known = await this.failed.orders(ids);
    const [orders, refused]: [FailedOrder[], NotRetried[]] = [[], []];
    for (const id of ids) {
      try {
        orders.push(assertRetryable(known.get(id)));
      } catch (error) {
        refused.push({ id, reason: error instanceof AppError ? error : internal(error) });
      }
    }
    return { orders, refused };
  }

  /** A failed retry does not stop the others. */
  async run(ids: readonly string[], requestId: string): Promise<RetryOutcome> {
    const orders = await this.failed.orders(ids);
    const [retried, refused]: [Retried[], NotRetried[]] = [[], []];
    const until = Date.now() + TIME_MS;
    const waiting = [...new Set(ids)];
    const work = async (): Promise<void> => {
      for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
        try {
          const order = assertRetryable(orders.get(id));
          if (Date.now() > until) throw unavailable('The retry timed out. Try again.');
          retried.push({ id, newId: await this.order(order, requestId), accountId: order.accountId });
        } catch (error) {
          refused.push({ id, reason: error instanceof AppError ? error : internal(error) });
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    return { retried, refused };
  }

  private async order(order: FailedOrder, requestId: string): Promise<string> {
    const { id, callbackUrl, asynchronous } = order;
    const terms = { requestId, callbackUrl, asynchronous, retryOf: id };
    return (await this.again.order(order, ownerOf(order), terms)).task.id;
  }
}

/** The original owner of the order, whom the retry counts for. */
function ownerOf(order: FailedOrder): Payer {
  const { accountId, apiKeyId: keyId, originalKeyId, orderedBy, weight, approvals } = order;
  const own = { submits: order.submitsPerMinute ?? undefined, tasksInFlight: order.tasksInFlight ?? undefined };
  const all = {
    submits: order.accountSubmitsPerMinute ?? undefined,
    tasksInFlight: order.accountTasksInFlight ?? undefined,
  };
  return {
    accountId,
    keyId,
    originalKeyId,
    weight,
    approvals,
    ...(orderedBy !== null && { personId: orderedBy }),
    limits: { ...own, polls: undefined },
    account: { weight: order.accountWeight, limits: { ...all, polls: undefined, chats: undefined } },
  };
}

/** Why a kind of failure is not retried; null when it is. */
export function notRetryableReason(code: string): string | null {
  if (isWorthRetrying(code)) return null;
  if (code === 'approval_rejected' || code === 'approval_expired') return 'It was not approved.';
  if (code === 'moderation_blocked') return 'The provider rejected the prompt or an image, and would reject it again.';
  return 'The request was invalid and would fail again.';
}

/** Returns the order if it may be retried. Throws AppError. */
function assertRetryable(order: FailedOrder | undefined): FailedOrder {
  if (order === undefined) throw new AppError('task_not_found', 'This failed task no longer exists.');
  if (order.retriedAs !== null) throw new AppError('already_exists', 'It was already retried.');
  const reason = notRetryableReason(order.code);
  if (reason !== null) throw new AppError('invalid_value', reason);
  if (order.accountDisabled) throw new AppError('account_disabled', 'Its account is disabled.');
  if (order.keyEnded) throw new AppError('invalid_api_key', 'Its key is revoked or has expired.');
  if (order.models.length > 0 && !order.models.includes(order.model)) {
    throw new AppError('model_not_allowed', 'Its key is no longer allowed to use the model.');
  }
  if (order.scopes.length > 0 && !order.scopes.includes('images')) {
    throw new AppError('endpoint_not_allowed', 'Its key is no longer allowed to generate images.');
  }
  return order;
}

function internal(cause: unknown): AppError {
  return new AppError('internal_error', 'An internal error prevented the retry.', { cause });
}
