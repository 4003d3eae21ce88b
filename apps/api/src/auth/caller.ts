import type { ModelEntry } from '#catalog/catalog.js';
import { AppError } from '#contract/app-error.js';
import type { DefaultResponseFormat } from '#contract/accepted-values.js';
import type { KeyScope } from '#accounts/api-keys.js';
import type { TaskCommand } from '#tasks/task.js';

/** What a key may do in place of what the deployment allows each key; undefined = that, 0 = any number. */
interface KeyLimits {
  /** Image requests per minute. */
  readonly submits: number | undefined;
  /** Reads of tasks per minute. */
  readonly polls: number | undefined;
  readonly tasksInFlight: number | undefined;
}

/** What all keys of an account share, as operators set it. */
export interface AccountShare {
  /** Turns in the queue, relative to other accounts. */
  readonly weight: number;
  /** As those of a key, for all keys together. */
  readonly limits: KeyLimits & {
    /** Chats per minute. */
    readonly chats: number | undefined;
  };
}

/** The columns of an account that make its share. */
export const ACCOUNT_SHARE = {
  weight: true,
  submitsPerMinute: true,
  pollsPerMinute: true,
  chatsPerMinute: true,
  tasksInFlight: true,
} as const;

/** The share that an account's row tells of. */
export function accountShare(
  row: { weight: number } & Record<Exclude<keyof typeof ACCOUNT_SHARE, 'weight'>, number | null>,
): AccountShare {
  return {
    weight: row.weight,
    limits: {
      submits: row.submitsPerMinute ?? undefined,
      polls: row.pollsPerMinute ?? undefined,
      chats: row.chatsPerMinute ?? undefined,
      tasksInFlight: row.tasksInFlight ?? undefined,
    },
  };
}

/** Who a request is made for, as its API key says. */
export interface Caller {
  readonly accountId: string;
  readonly keyId: string;
  /** The first of the keys that rotations replaced by this one, or itself; what limits a key counts all of them as that. */
  readonly originalKeyId: string;
  /** What binds it together with the account's other keys. */
  readonly account: AccountShare;
  /** Share of the account's turns in the queue, relative to its other keys. */
  readonly weight: number;
  readonly limits: KeyLimits;
  /** Models the key may use; empty means all. */
  readonly models: readonly string[];
  /** What the key may be used for; empty means everything. */
  readonly scopes: readonly KeyScope[];
  /** What `response_format` is when the request does not say: the key's, or else its account's; undefined = as the deployment has it. */
  readonly defaultResponseFormat: DefaultResponseFormat | undefined;
  /** Whether generations take `<w>x<h>` sizes; undefined = as the deployment has it. */
  readonly allowPixelSize: boolean | undefined;
  /** `apimart`: generations answer at once with a task id. */
  readonly submitMode: 'sync' | 'apimart';
  /** Who asks, in the console; absent: whoever holds the key. */
  readonly personId?: string;
  /** Whether the key or its account has a budget. */
  readonly budgeted: boolean;
}

/** Whom a task is made for, and what binds it. */
export type Orderer = Pick<
  TaskCommand,
  | 'accountId'
  | 'accountWeight'
  | 'accountMaxInFlight'
  | 'apiKeyId'
  | 'originalKeyId'
  | 'weight'
  | 'maxInFlight'
  | 'budgeted'
  | 'orderedBy'
>;

/** The caller as a task names it. */
export function ordererOf({
  accountId,
  account,
  keyId,
  originalKeyId,
  weight,
  limits,
  budgeted,
  personId,
}: Pick<Caller, 'accountId' | 'account' | 'keyId' | 'originalKeyId' | 'weight' | 'limits' | 'personId'> &
  Partial<Pick<Caller, 'budgeted'>>): Orderer {
  return {
    accountId,
    accountWeight: account.weight,
    accountMaxInFlight: account.limits.tasksInFlight,
    apiKeyId: keyId,
    originalKeyId,
    weight,
    maxInFlight: limits.tasksInFlight,
    budgeted,
    orderedBy: personId,
  };
}

/** Whether the caller's key is for the model, by any of the model's names; a key that names none is for all. */
export function mayUseModel(caller: Caller, { name, aliases }: Pick<ModelEntry, 'name' | 'aliases'>): boolean {
  return caller.models.length === 0 || [name, ...aliases].some((one) => caller.models.includes(one));
}

/** The scope `images` includes its tasks; a route without a scope needs a key for all scopes. Throws AppError `endpoint_not_allowed`. */
export function assertScope({ scopes }: Caller, scope: KeyScope | undefined): void {
  if (scopes.length === 0) return;
  if (scope !== undefined && scopes.includes(scope)) return;
  if (scope === 'tasks' && scopes.includes('images')) return;
  throw new AppError('endpoint_not_allowed', `This API key may only be used for ${scopes.join(' and ')}.`);
}
