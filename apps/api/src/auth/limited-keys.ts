import { Injectable } from '@nestjs/common';
import { ApiKeyRepository } from '#accounts/api-key.repository.js';
import { hasEnded } from '#accounts/api-keys.js';
import { TaskRights } from '#accounts/task-rights.js';
import { may } from '#accounts/person-rules.js';
import { BudgetRepository } from '#billing/budget.repository.js';

type ApiKey = Awaited<ReturnType<ApiKeyRepository['ofCreator']>>[number];

/** The settings of a key that only owners and admins change. */
const LIMITS = ['weight', 'submitsPerMinute', 'pollsPerMinute', 'tasksInFlight', 'approveAboveMicros'] as const;

const NO_LIMITS = {
  weight: 1,
  submitsPerMinute: null,
  pollsPerMinute: null,
  tasksInFlight: null,
  approveAboveMicros: null,
} as const satisfies Pick<ApiKey, (typeof LIMITS)[number]>;

/** The keys of members that an admin has limited: the members' clients and the playground must not bypass them. */
@Injectable()
export class LimitedKeys {
  constructor(
    private readonly keys: ApiKeyRepository,
    private readonly budgets: BudgetRepository,
    private readonly rights: TaskRights,
  ) {}

  /** The newest working key of a person that has a limit or a budget, or else the newest past one. */
  async of(accountId: string, personId: string): Promise<ApiKey | undefined> {
    const keys = await this.keys.ofCreator(accountId, personId);
    // The limits of clients that share those of a key are the key's.
    const limited = await this.limited(keys.filter((key) => !sharesLimits(key)));
    return limited.find((key) => !hasEnded(key)) ?? limited[0];
  }

  /**
   * The key of a client that a person has authorized, with the limits that the person has now: as one with their limited
   * key, unless an admin has limited the client by itself. Throws when the database does not answer.
   */
  async applied<T extends ApiKey>(client: T): Promise<T> {
    const shared = await this.sharedBy(client);
    const payer = shared === undefined ? null : (shared.originalKeyId ?? shared.id);
    if (payer !== client.originalKeyId) await this.budgets.share(client.id, payer, NO_LIMITS);
    if (shared === undefined) return { ...client, ...(sharesLimits(client) && NO_LIMITS), originalKeyId: null };
    return { ...client, ...Object.fromEntries(LIMITS.map((name) => [name, shared[name]])), originalKeyId: payer };
  }

  private async sharedBy(client: ApiKey): Promise<ApiKey | undefined> {
    const { accountId, createdBy } = client;
    const { role } = await this.rights.ofKey(client);
    if (createdBy === null || role === undefined || may({ accountId, role }, 'keys.manage_all')) return undefined;
    if (!sharesLimits(client) && (await this.limited([client])).length > 0) return undefined;
    return await this.of(accountId, createdBy);
  }

  private async limited(keys: readonly ApiKey[]): Promise<ApiKey[]> {
    const budgets = await this.budgets.find(keys.map(({ id }) => id));
    const budgeted = new Set(budgets.map(({ ownerId }) => ownerId));
    return keys.filter((key) => budgeted.has(key.id) || hasLimits(key));
  }
}

/** Whether the key of a client counts as one with another key. */
function sharesLimits({ oauthClient, originalKeyId }: Pick<ApiKey, 'oauthClient' | 'originalKeyId'>): boolean {
  return oauthClient !== null && originalKeyId !== null;
}

/** Whether an admin has limited the key's requests or spending, other than by a budget. */
function hasLimits({ submitsPerMinute, pollsPerMinute, tasksInFlight, approveAboveMicros }: ApiKey): boolean {
  if (approveAboveMicros !== null) return true;
  return [submitsPerMinute, pollsPerMinute, tasksInFlight].some((limit) => limit !== null && limit !== 0);
}
