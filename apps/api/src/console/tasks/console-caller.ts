import { Injectable } from '@nestjs/common';
import { ApiKeyRepository } from '#accounts/api-key.repository.js';
import type { ApiKeyRow } from '#accounts/api-keys.js';
import { may } from '#accounts/person-rules.js';
import { PrismaService } from '#database/prisma.service.js';
import type { Session } from '#accounts/session-store.js';
import { ACCOUNT_SHARE, accountShare, type Caller } from '../../auth/caller.js';

/** A user who orders images in the console. */
type Orderer = Pick<Session, 'accountId' | 'personId' | 'role'>;

/** A key, with its limits if it belongs to a user. */
type PayingKey = Pick<ApiKeyRow, 'id'> & { readonly originalKeyId?: string | null } & Partial<
    Pick<ApiKeyRow, 'weight' | 'submitsPerMinute' | 'pollsPerMinute' | 'tasksInFlight'>
  >;

/** Names of the hidden keys for the playground and for provider tests. */
const PLAYGROUND_KEY = 'Playground';
const TEST_KEY = 'Provider test';

/**
 * The caller for images ordered in the console: a hidden key of the account, whose secret no one has. A member whose
 * key an admin has limited uses that key, so that the console does not bypass its limits.
 */
@Injectable()
export class ConsoleCaller {
  constructor(
    private readonly prisma: PrismaService,
    private readonly keys: ApiKeyRepository,
  ) {}

  async of(who: Orderer): Promise<Caller> {
    const key = !may(who, 'keys.manage_all') ? await this.limitedKey(who.accountId, who.personId) : undefined;
    return await this.caller(who, key ?? { id: await this.keyId(who.accountId) });
  }

  /** The caller for provider tests: a key of its own, so that tests do not count as users' images. */
  async ofTest(who: Orderer): Promise<Caller> {
    return await this.caller(who, { id: await this.keys.ensureHidden(who.accountId, TEST_KEY) });
  }

  private async caller(who: Orderer, key: PayingKey): Promise<Caller> {
    const { accountId, personId } = who;
    const account = await this.prisma.account.findUniqueOrThrow({
      where: { id: accountId },
      select: ACCOUNT_SHARE,
    });
    return {
      accountId,
      keyId: key.id,
      originalKeyId: key.originalKeyId ?? key.id,
      personId,
      role: who.role,
      own: await this.keys.tasksOfPerson(who),
      account: accountShare(account),
      weight: key.weight ?? 1,
      limits: {
        submits: key.submitsPerMinute ?? undefined,
        polls: key.pollsPerMinute ?? undefined,
        tasksInFlight: key.tasksInFlight ?? undefined,
      },
      models: [],
      scopes: [],
      defaultResponseFormat: undefined,
      allowPixelSize: true,
      submitMode: 'sync',
      budgeted: true,
    };
  }

  /** Created on first use. */
  async keyId(accountId: string): Promise<string> {
    return await this.keys.ensureHidden(accountId, PLAYGROUND_KEY);
  }

  /** The user's newest key that has a budget or a limit, including ended keys. */
  private async limitedKey(accountId: string, personId: string) {
    const { apiKey, budget } = this.prisma;
    const keys = await apiKey.findMany({ where: { accountId, createdBy: personId }, orderBy: { createdAt: 'desc' } });
    const owners = keys.map(({ id, originalKeyId }) => originalKeyId ?? id);
    const budgets = await budget.findMany({ where: { ownerId: { in: owners } }, select: { ownerId: true } });
    return keys.find(({ id, originalKeyId, submitsPerMinute, pollsPerMinute, tasksInFlight }) => {
      const hasBudget = budgets.some(({ ownerId }) => ownerId === (originalKeyId ?? id));
      return hasBudget || [submitsPerMinute, pollsPerMinute, tasksInFlight].some((limit) => (limit ?? 0) > 0);
    });
  }
}
