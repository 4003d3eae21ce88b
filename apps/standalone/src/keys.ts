import { parseArgs } from 'node:util';
import { loadConfig } from '#config/load-config.js';
import { AppError } from '#contract/app-error.js';
import { decimalOf } from '#contract/money.js';
import { VISIBLE_NAME } from '#contract/text-rules.js';
import { ApiKeyRepository } from '#accounts/api-key.repository.js';
import { DEFAULT_ACCOUNT, type ApiKeyRow, type ApiKeySettings } from '#accounts/api-keys.js';
import type { PrismaService } from '#database/prisma.service.js';
import { SetupError } from '#embedded/setup-error.js';
import { BudgetRepository } from '#billing/budget.repository.js';
import type { Budget } from '#billing/budgets.js';
import { AccountStore, type AccountLimits } from '#accounts/account-store.js';
import { AccountsConfig } from '#accounts/accounts.config.js';
import type { AuditAction } from '#accounts/audit-actions.js';
import { namedAccount } from './account-option.js';
import { BUDGET_OPTIONS, budgetText, readBudget, type BudgetSetting } from './budget-options.js';
import { CLIENT_OPTIONS, clientChanges, clientText, readClient, type ClientSettings } from './client-options.js';
import { recipeText, requireRecipe } from './client-recipes.js';
import { LIMIT_OPTIONS, limitChanges, limitsText, readLimits } from './limit-options.js';
import { noteCommand } from './note-command.js';
import { StandaloneConfig } from './standalone.config.js';
import { findRunning, notRunning, requireDatabaseUrl, withDatabase } from './running.js';
import { textTable, textTime } from './text-table.js';

const USAGE = `How to use it:
  npm run keys -- create --name <name> [--for <client>] [settings]
  npm run keys -- list
  npm run keys -- update <id or prefix> [settings]
  npm run keys -- revoke <id or prefix>
  npm run keys -- account [settings]   shows or sets what all keys together may do and spend
--for prints what to enter in openwebui, librechat, lobechat, n8n, ai-sdk, langchain, dify or cherry-studio.
Each of them takes --account <id>; without it, it is about the first account. The console shows the ids.
Settings:
  --weight <1 to 100>            of a key: turns in the queue, relative to the account's other keys;
                                 of an account: relative to other accounts
  --submits-per-minute <number>  image requests; 0 = unlimited, default = as the deployment says
  --polls-per-minute <number>    reads of tasks; likewise
  --tasks-in-flight <number>     tasks that wait or run at a time; likewise
  --chats-per-minute <number>    chats; likewise, of an account alone
  --max-keys <number>            keys that work at a time; likewise, of an account alone
and of a key, for the client that uses it (default = as the deployment says):
  --response-format <both|url|b64_json>  what calls that do not ask for one are answered with
  --pixel-sizes <yes|no>         whether generations take sizes such as 1024x1024
  --submit-mode <sync|apimart>   whether generations are answered with the image, or at once with a task
and for its budget:
  --budget <amount>              what it may spend, in the currency of the prices; none = no budget
  --budget-period <month|total>  for each month of the calendar (the default), or once`;

/** `keys create|list|update|revoke|account`. Throws SetupError with a sentence or the usage. */
export async function keys(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  say: (line: string) => void,
): Promise<void> {
  const [config, { keysPerAccount }] = loadConfig([StandaloneConfig, AccountsConfig], env);
  const { command, account, name, target, limits, client, budget, recipe } = parse(args);
  // Those of an account alone were refused for a key.
  const settings: Partial<ApiKeySettings> = { ...limits, ...client };
  await withDatabase(requireDatabaseUrl(config), async (database) => {
    const { secretKey, url } = findRunning(config);
    if (command === 'create' && secretKey === undefined)
      throw new SetupError(`SECRET_KEY is not known: ${notRunning(config, 'SECRET_KEY')}.`);
    // Only new keys are hashed under it.
    const keys = new ApiKeyRepository(database, { secretKey: secretKey ?? '' });
    const { name: accountName } = await namedAccount(database, account);
    const note = (action: AuditAction, target: string, details: Record<string, unknown>): Promise<void> =>
      noteCommand(database, action, { account, target, details });
    if (command === 'list') say(await list(database, keys, account));
    else if (command === 'revoke') {
      const key = found(await keys.revoke(target, account), target);
      await note('key.revoked', key.id, { name: key.name });
      say(revoked(key));
    } else if (command === 'update') {
      const key = found(await keys.update(target, settings, account), target);
      const after = await budgetAfter(database, { ownerId: key.id, owner: 'key' }, budget);
      await note('key.changed', key.id, {
        name: key.name,
        changes: { ...changesOf(limits, budget), ...clientChanges(client) },
      });
      say(updated(key, after));
    } else if (command === 'account') {
      const after = await budgetAfter(database, { ownerId: account, owner: 'account' }, budget);
      if (budget !== undefined) {
        const { amount, period } = told(budget);
        await note('account.budget_set', account, { name: accountName, budget: amount, period });
      }
      if (Object.keys(limits).length > 0) {
        await new AccountStore(database).setLimits(account, limits);
        await note('account.limits_set', account, { name: accountName, changes: limitChanges(limits) });
      }
      const { limits: all } = await namedAccount(database, account);
      say(`The budget of the account is ${budgetText(after)}.\nIts limits are: ${limitsText(all)}.`);
    } else {
      const wanted = { name, accountId: account, settings };
      const { id, key } = await keys.create(wanted, keysPerAccount).catch(tellHowToRaise(account));
      await budgetAfter(database, { ownerId: id, owner: 'key' }, budget);
      await note('key.created', id, { name, ...changesOf(limits, budget), ...clientChanges(client) });
      say(`${key}\n\nThis is the key "${name}" (${id}). It is shown only now; keep it.`);
      if (recipe !== undefined) say(`\n${recipeText(recipe, url, key)}`);
    }
  });
}

interface KeysCommand {
  readonly command: 'create' | 'list' | 'update' | 'revoke' | 'account';
  /** Id of the account that it is about. */
  readonly account: string;
  readonly name: string;
  readonly target: string;
  readonly limits: Partial<AccountLimits>;
  /** Of a key alone. */
  readonly client: Partial<ClientSettings>;
  readonly budget: BudgetSetting;
  /** The client that a new key is for. */
  readonly recipe: string | undefined;
}

function parse(args: readonly string[]): KeysCommand {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: {
        name: { type: 'string' },
        for: { type: 'string' },
        account: { type: 'string', default: DEFAULT_ACCOUNT },
        ...LIMIT_OPTIONS,
        ...CLIENT_OPTIONS,
        ...BUDGET_OPTIONS,
      },
      allowPositionals: true,
    });
    const [command, target = '', ...rest] = positionals;
    const { account, for: recipe, name = recipe ?? 'unnamed' } = values;
    const limits = readLimits(values);
    const budget = readBudget(values);
    const client = readClient(values);
    const forClient = Object.keys(client).length > 0;
    const changes = Object.keys(limits).length > 0 || budget !== undefined || forClient;
    const forKey = limits.chatsPerMinute === undefined && limits.maxKeys === undefined;
    if (!VISIBLE_NAME.test(name)) throw new SetupError('A name has 1 to 100 visible characters.');
    if (rest.length > 0 || (recipe !== undefined && command !== 'create')) throw new SetupError(USAGE);
    if (recipe !== undefined) requireRecipe(recipe);
    const asked = { account, name: command === 'create' ? name : '', target, limits, client, budget, recipe };
    if (command === 'create' && target === '' && forKey) return { command, ...asked };
    if (command === 'list' && target === '' && !changes) return { command, ...asked };
    if (command === 'account' && target === '' && !forClient) return { command, ...asked };
    if (command === 'update' && target !== '' && changes && forKey) return { command, ...asked };
    if (command === 'revoke' && target !== '' && !changes) return { command, ...asked };
  } catch (error) {
    if (error instanceof SetupError) throw error;
  }
  throw new SetupError(USAGE);
}

/** An operator's answer to `account_limit_reached` is another one than a tenant's. */
function tellHowToRaise(account: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof AppError)) throw error;
    throw new SetupError(
      `The account has as many keys as it may. Revoke one, or allow more: ` +
        `npm run keys -- account --account ${account} --max-keys <number>`,
    );
  };
}

function found(result: ApiKeyRow | 'unknown' | 'ambiguous', target: string): ApiKeyRow {
  if (result === 'unknown') throw new SetupError(`There is no key with the id or prefix ${target}.`);
  if (result === 'ambiguous') throw new SetupError(`Several keys begin with ${target}; name one by its id.`);
  return result;
}

function revoked({ name, id }: ApiKeyRow): string {
  return `The key "${name}" (${id}) is revoked; within 10 s no process accepts it any more.`;
}

function updated(key: ApiKeyRow, budget: Budget | undefined): string {
  const all = `${limitsOf(key)}, budget ${budgetText(budget)}`;
  return `The key "${key.name}" (${key.id}) has ${all}; within 10 s every process goes by that.`;
}

/** What was set of a key, under the names that the console writes into the audit log. */
function changesOf(limits: Partial<AccountLimits>, budget: BudgetSetting): Record<string, unknown> {
  if (budget === undefined) return limitChanges(limits);
  const { amount, period } = told(budget);
  return { ...limitChanges(limits), budget: amount, budget_period: period };
}

function told(budget: Exclude<BudgetSetting, undefined>): { amount: string | null; period: string | null } {
  return budget === null ? { amount: null, period: null } : { amount: decimalOf(budget.limit), period: budget.period };
}

/** The budget as it is after it was set, taken away, or left alone. */
async function budgetAfter(
  database: PrismaService,
  owner: Pick<Budget, 'ownerId' | 'owner'>,
  budget: BudgetSetting,
): Promise<Budget | undefined> {
  const budgets = new BudgetRepository(database);
  if (budget !== undefined) await budgets.set(owner, budget ?? undefined);
  return (await budgets.find([owner.ownerId]))[0];
}

function limitsOf({ scopes, ...key }: ApiKeyRow): string {
  return `${limitsText(key)}${clientText(key)}${scopes.length === 0 ? '' : `, only ${scopes.join(' ')}`}`;
}

async function list(database: PrismaService, keys: ApiKeyRepository, account: string): Promise<string> {
  const rows = await keys.list(account);
  const budgets = await new BudgetRepository(database).find([account, ...rows.map(({ id }) => id)]);
  const budgetOf = (ownerId: string): string => budgetText(budgets.find((budget) => budget.ownerId === ownerId));
  return `${table(rows, budgetOf)}\n\nBudget of the account: ${budgetOf(account)}`;
}

function table(rows: readonly ApiKeyRow[], budgetOf: (id: string) => string): string {
  return textTable([
    ['ID', 'PREFIX', 'NAME', 'CREATED', 'LIMITS', 'BUDGET', 'STATE'],
    ...rows.map((row) => [
      ...[row.id, `${row.prefix}...`, row.name, textTime(row.createdAt)],
      limitsOf(row),
      budgetOf(row.id),
      stateOf(row),
    ]),
  ]);
}

function stateOf({ revokedAt, expiresAt }: ApiKeyRow): string {
  if (revokedAt !== null) return `revoked ${textTime(revokedAt)}`;
  return expiresAt !== null && expiresAt < new Date() ? 'expired' : 'active';
}
