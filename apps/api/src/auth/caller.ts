import type { ResponseFormat } from '#contract/image-request.js';

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
