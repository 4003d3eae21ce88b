import type { FastifyRequest } from 'fastify';
import type { AccountLimits } from '#accounts/account-store.js';
import type { ApprovalThresholds } from '#tasks/admission/approval-thresholds.js';
import type { ModelEntry } from '#catalog/catalog.js';
import { AppError } from '#contract/app-error.js';
import type { DefaultResponseFormat } from '#contract/accepted-values.js';
import type { KeyScope, SubmitMode } from '#accounts/api-keys.js';
import type { EndUserMode } from '#accounts/end-users.js';
import { may, type Ability, type Role } from '#accounts/person-rules.js';
import type { TaskCommand, TaskScope } from '#tasks/row/task.js';

/** A key's own limits; undefined = the deployment's default, 0 = unlimited. */
interface KeyLimits {
  /** Image requests per minute. */
  readonly submits: number | undefined;
  /** Reads of tasks per minute. */
  readonly polls: number | undefined;
  readonly tasksInFlight: number | undefined;
}

/** What operators set for all keys of an account together. */
export interface AccountShare {
  /** Weight in the fair queue, relative to other accounts. */
  readonly weight: number;
  /** Limits as for a key, shared by all keys. */
  readonly limits: KeyLimits & {
    /** Chats per minute. */
    readonly chats: number | undefined;
  };
}

/** A chat that is a line of a batch. */
interface BatchCall {
  readonly batchId: string;
  /** Set once a provider may have answered it: then it must not be sent again. */
  mayBeBought: boolean;
}

/** Builds the share from an account's limits. */
export function accountShare(row: Omit<AccountLimits, 'maxKeys'>): AccountShare {
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

/**
 * The caller of a request, with the tasks that it may see and cancel: as its API key defines it, or for a request of the
 * console as the user and the key that their orders count for do (ConsoleCaller).
 */
export interface Caller extends TaskScope {
  readonly keyId: string;
  /** The first key of its chain of rotations, or the key itself. Limits count all keys of the chain as one. */
  readonly originalKeyId: string;
  /** Limits that the account's keys share. */
  readonly account: AccountShare;
  /** Weight within the account's share of the queue, relative to its other keys. */
  readonly weight: number;
  readonly limits: KeyLimits;
  /** Models the key may use; empty means all. */
  readonly models: readonly string[];
  /** Scopes of the key; empty means all. */
  readonly scopes: readonly KeyScope[];
  /** Present role of the user who created the key: it may do no more than they; undefined = no user created it. */
  readonly role: Role | undefined;
  /** Default `response_format`: the key's, or else the account's; undefined = the deployment's default. */
  readonly defaultResponseFormat: DefaultResponseFormat | undefined;
  /** How long its tasks are kept, in seconds: as its key or else the account says; undefined = as retention has it. */
  readonly keepSeconds?: number | undefined;
  /** Whether generations accept `<w>x<h>` sizes; undefined = the deployment's default. */
  readonly allowPixelSize: boolean | undefined;
  /** How generations respond: see `getsTasks`. */
  readonly submitMode: SubmitMode;
  /** The only region that may serve it: the key's, or the request's; undefined = any. */
  readonly region?: string | undefined;
  /** What happens to identifiers of end users; absent: `off`. */
  readonly endUsers?: EndUserMode;
  /** Tags of all its requests; absent: none. */
  readonly tags?: readonly string[];
  /** Whether it sent the access token of an OAuth client, which few routes accept. */
  readonly withToken?: boolean;
  /** The console user; absent for requests with an API key. */
  readonly personId?: string;
  /** The line of a batch that it sends; absent for requests over HTTP. */
  readonly line?: BatchCall;
  /** Whether the key or its account has a budget. */
  readonly budgeted: boolean;
  /** What a request may cost without an approval, by the key and its account; absent: any amount. */
  readonly approvals?: ApprovalThresholds;
}

/** The authenticated caller of a request. Throws AppError `invalid_api_key` when there is none. */
export function callerOf(request: FastifyRequest): Caller {
  if (request.caller === undefined) throw invalidKey();
  return request.caller;
}

const INVALID_KEY = 'The API key is missing or invalid. Send it as: Authorization: Bearer <key>';

/** The same error for every cause, so that it reveals nothing about keys. */
export function invalidKey(): AppError {
  return new AppError('invalid_api_key', INVALID_KEY);
}

/** A known key that no longer works, or whose account is disabled: its account sees these calls. */
export class KeyRefused extends AppError {
  constructor(
    readonly key: Pick<Caller, 'accountId' | 'keyId'>,
    code: 'invalid_api_key' | 'account_disabled',
  ) {
    super(code, code === 'invalid_api_key' ? INVALID_KEY : 'The account of this API key is disabled.');
  }
}

/** Whether generations of the caller's key respond at once with a task's id. */
export function getsTasks({ submitMode }: Pick<Caller, 'submitMode'>): boolean {
  return submitMode === 'apimart';
}

/** The owner of a new task, and its limits. */
export type TaskOwner = Pick<
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
  | 'own'
>;

/** The caller's fields of a new task. */
export function taskOwnerOf({
  accountId,
  account,
  keyId,
  originalKeyId,
  weight,
  limits,
  budgeted,
  personId,
  own,
}: Pick<Caller, 'accountId' | 'account' | 'keyId' | 'originalKeyId' | 'weight' | 'limits' | 'personId'> &
  Partial<Pick<Caller, 'budgeted' | 'own'>>): TaskOwner {
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
    own,
  };
}

/** Whether the caller's key may use the model under any of its names; a key without a list may use all models. */
export function mayUseModel(caller: Caller, { name, aliases }: Pick<ModelEntry, 'name' | 'aliases'>): boolean {
  return caller.models.length === 0 || [name, ...aliases].some((one) => caller.models.includes(one));
}

/** What the user who created a key has to be allowed for the key to be used for it. */
const NEEDED: Readonly<Record<KeyScope, Ability>> = {
  images: 'tasks.create',
  tasks: 'tasks.read',
  chat: 'tasks.create',
  approve: 'tasks.approve',
};

/**
 * The scope `images` includes its tasks; `approve` is never included in anything; a route without a scope needs a key without scopes. A key of a user is also
 * limited to what their role includes now. Throws AppError `endpoint_not_allowed`.
 */
export function assertScope({ scopes, role, accountId }: Caller, scope: KeyScope | undefined): void {
  if (role !== undefined && !may({ role, accountId }, NEEDED[scope ?? 'images'])) {
    throw new AppError(
      'endpoint_not_allowed',
      `The user who created this API key has the role ${role}, which does not include this.`,
    );
  }
  if (scope === 'approve' && !scopes.includes(scope)) {
    throw new AppError('endpoint_not_allowed', 'This API key has no permission to approve requests.');
  }
  if (scopes.length === 0) return;
  if (scope !== undefined && scopes.includes(scope)) return;
  if (scope === 'tasks' && scopes.includes('images')) return;
  throw new AppError('endpoint_not_allowed', `This API key only has permission for ${scopes.join(' and ')}.`);
}
