import { Injectable } from '@nestjs/common';
import { ApiKeyRepository } from '#accounts/api-key.repository.js';
import { PrismaService } from '#database/prisma.service.js';
import type { Session } from '#accounts/session-store.js';
import { ACCOUNT_SHARE, accountShare, type Caller } from '../../auth/caller.js';

/** Who orders something in the console. */
type Orderer = Pick<Session, 'accountId' | 'personId' | 'role'>;

/** Name of the key that an account's playground generates with. */
const PLAYGROUND_KEY = 'Playground';

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

  async of({ accountId, personId, role }: Orderer): Promise<Caller> {
    const account = await this.prisma.account.findUniqueOrThrow({
      where: { id: accountId },
      select: ACCOUNT_SHARE,
    });
    const key = role === 'member' ? await this.limitedKey(accountId, personId) : undefined;
    return {
      ...{ accountId, personId },
      keyId: key?.id ?? (await this.keyId(accountId)),
      account: accountShare(account),
      weight: key?.weight ?? 1,
      limits: {
        submits: key?.submitsPerMinute ?? undefined,
        polls: key?.pollsPerMinute ?? undefined,
        tasksInFlight: key?.tasksInFlight ?? undefined,
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
    const owners = keys.map(({ id, budgetId }) => budgetId ?? id);
    const budgets = await budget.findMany({ where: { ownerId: { in: owners } }, select: { ownerId: true } });
    return keys.find(({ id, budgetId, submitsPerMinute, pollsPerMinute, tasksInFlight }) => {
      const hasBudget = budgets.some(({ ownerId }) => ownerId === (budgetId ?? id));
      return hasBudget || [submitsPerMinute, pollsPerMinute, tasksInFlight].some((limit) => (limit ?? 0) > 0);
    });
  }
}
