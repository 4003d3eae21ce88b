import type { PrismaService } from '#database/prisma.service.js';
import { SetupError } from '#embedded/setup-error.js';
import { AccountStore, type Account } from '#accounts/account-store.js';

/** The account that `--account` names. Throws SetupError when there is none. */
export async function namedAccount(database: PrismaService, id: string): Promise<Account> {
  const account = await new AccountStore(database).find(id);
  if (account === undefined) throw new SetupError(`There is no account with the id ${id}.`);
  return account;
}
