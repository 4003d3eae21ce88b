import { AppError } from '#contract/app-error.js';
import type { ResponseFormat } from '#contract/image-request.js';
import type { KeyScope } from '#database/api-keys.js';

/** What a key may do in place of what the deployment allows each key; undefined = that, 0 = any number. */
export interface KeyLimits {
  /** Image requests per minute. */
  readonly submits: number | undefined;
  /** Reads of tasks per minute. */
  readonly polls: number | undefined;
  readonly tasksInFlight: number | undefined;
}

/** Who a request is made for, as its API key says. */
export interface Caller {
  readonly accountId: string;
  readonly keyId: string;
  /** Turns in the queue, relative to other keys. */
  readonly weight: number;
  readonly limits: KeyLimits;
  /** Models the key may use; empty means all. */
  readonly models: readonly string[];
  /** What the key may be used for; empty means everything. */
  readonly scopes: readonly KeyScope[];
  /** What `response_format` is when the request does not say. */
  readonly defaultResponseFormat: ResponseFormat | undefined;
  /** Whether generations take `<w>x<h>` sizes of the table. */
  readonly allowPixelSize: boolean;
  /** `apimart`: generations answer at once with a task id. */
  readonly submitMode: 'sync' | 'apimart';
  /** Whether the key or its account has a budget. */
  readonly budgeted: boolean;
}

export function mayUseModel(caller: Caller, model: string): boolean {
  return caller.models.length === 0 || caller.models.includes(model);
}

/** Who makes pictures may look at their tasks; without a scope only keys for everything pass. Throws AppError `endpoint_not_allowed`. */
export function assertScope({ scopes }: Caller, scope: KeyScope | undefined): void {
  if (scopes.length === 0) return;
  if (scope !== undefined && scopes.includes(scope)) return;
  if (scope === 'tasks' && scopes.includes('images')) return;
  throw new AppError('endpoint_not_allowed', `This API key may only be used for ${scopes.join(' and ')}.`);
}
