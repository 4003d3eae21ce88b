import { Inject, Injectable } from '@nestjs/common';
import { ensureHiddenKey } from '#database/api-keys.js';
import { Database } from '#database/database.js';
import { ACCOUNT_SHARE, accountShare, type Caller } from '../../auth/caller.js';

/** Name of the key that an account's playground draws with. */
const PLAYGROUND_KEY = 'Playground';

/** Who the pictures of the playground are made for: a hidden key of the account, that nobody holds. */
@Injectable()
export class ConsoleCaller {
  constructor(@Inject(Database) private readonly database: Database) {}

  async of(accountId: string): Promise<Caller> {
    const account = await this.database.prisma.account.findUniqueOrThrow({
      where: { id: accountId },
      select: ACCOUNT_SHARE,
    });
    return {
      accountId,
      keyId: await this.keyId(accountId),
      account: accountShare(account),
      weight: 1,
      limits: { submits: undefined, polls: undefined, tasksInFlight: undefined },
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
    return await ensureHiddenKey(this.database.pool, accountId, PLAYGROUND_KEY);
  }
}
