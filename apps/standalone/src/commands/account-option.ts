import { Option } from 'commander';
import type { PrismaService } from '#database/prisma.service.js';
import { SetupError } from '#embedded/setup-error.js';
import { AccountStore, type Account } from '#accounts/account-store.js';
import { DEFAULT_ACCOUNT } from '#accounts/api-keys.js';

/** `--account`, for every command that concerns one account. */
export function accountOption(): Option {
  return new Option('--account <id>', 'account ID, as shown in the console').default(DEFAULT_ACCOUNT);
}

/** Finds the account that `--account` names. Throws SetupError when it does not exist. */
export async function namedAccount(database: PrismaService, id: string): Promise<Account> {
  const account = await new AccountStore(database).find(id);
  if (account === undefined) throw new SetupError(`There is no account with the id ${id}.`);
  return account;
}
