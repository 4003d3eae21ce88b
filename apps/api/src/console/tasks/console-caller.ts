import { Injectable } from '@nestjs/common';
import { ApiKeyRepository } from '#accounts/api-key.repository.js';
import type { ApiKeyRow } from '#accounts/api-keys.js';
import { may } from '#accounts/person-rules.js';
import { PrismaService } from '#database/prisma.service.js';
import type { Session } from '#accounts/session-store.js';
import { ACCOUNT_SHARE, accountShare, type Caller } from '../../auth/caller.js';

/** Who orders something in the console. */
type Orderer = Pick<Session, 'accountId' | 'personId' | 'role'>;

/** A key with what an admin has set for it, if it is one of a person. */
type PayingKey = Pick<ApiKeyRow, 'id'> & { readonly originalKeyId?: string | null } & Partial<
    Pick<ApiKeyRow, 'weight' | 'submitsPerMinute' | 'pollsPerMinute' | 'tasksInFlight'>
  >;

/** Names of the keys that an account's playground and its operators' tests of providers generate with. */
const PLAYGROUND_KEY = 'Playground';
const TEST_KEY = 'Provider test';

/**
 * Who the images of the console are made for: a hidden key of the account, that nobody holds. A member whom an admin
 * has limited generates with the key that was limited, so that no page lifts what holds for its keys.
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

  /** Who a provider is tested for: a key of its own, so that tests are no images of the account's people. */
  async ofTest(who: Orderer): Promise<Caller> {
    return await this.caller(who, { id: await this.keys.ensureHidden(who.accountId, TEST_KEY) });
  }

  private async caller({ accountId, personId }: Orderer, key: PayingKey): Promise<Caller> {
    const account = await this.prisma.account.findUniqueOrThrow({
      where: { id: accountId },
      select: ACCOUNT_SHARE,
    });
    return {
      ...{ accountId, keyId: key.id, originalKeyId: key.originalKeyId ?? key.id, personId },
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

  /** Made at first need. */
  async keyId(accountId: string): Promise<string> {
    return await this.keys.ensureHidden(accountId, PLAYGROUND_KEY);
  }

  /** The newest key of the person that an admin gave a budget or a limit, ended ones included. */
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
