import { Option } from 'commander';
import { loadConfig } from '#config/load-config.js';
import { AppError } from '#contract/app-error.js';
import { clientRecipe, RECIPE_CLIENTS } from '#contract/client-recipes.js';
import { decimalOf } from '#contract/money.js';
import { VISIBLE_NAME } from '#contract/text-rules.js';
import { ApiKeyRepository } from '#accounts/api-key.repository.js';
import { NewKeyRepository } from '#accounts/new-key.repository.js';
import type { ApiKeyRow, ApiKeySettings } from '#accounts/api-keys.js';
import type { PrismaService } from '#database/prisma.service.js';
import { SetupError } from '#embedded/setup-error.js';
import { BudgetRepository } from '#billing/budget.repository.js';
import type { Budget } from '#billing/budgets.js';
import { AccountStore } from '#accounts/account-store.js';
import { AccountsConfig } from '#accounts/accounts.config.js';
import type { AuditAction } from '#accounts/audit-actions.js';
import { accountOption, namedAccount } from './account-option.js';
import {
  approvalChanges,
  approvalOption,
  approvalSetting,
  approvalText,
  type ApprovalOption,
} from './approval-option.js';
import { budgetOptions, budgetSetting, budgetText, type BudgetOptions, type BudgetSetting } from './budget-options.js';
import {
  clientChanges,
  clientOptions,
  clientSettings,
  clientText,
  responseFormatOption,
  type ClientOptions,
} from './client-options.js';
import { keyUseChanges, keyUseOptions, keyUseSettings, keyUseText, type KeyUseOptions } from './key-use-options.js';
import {
  accountLimitOptions,
  keyLimitOptions,
  limitChanges,
  limitsIn,
  limitsText,
  type LimitOptions,
} from './limit-options.js';
import { noteCommand } from './note-command.js';
import { StandaloneConfig } from '../platform/standalone.config.js';
import { findRunning, notRunning, requireDatabaseUrl, withDatabase } from '../platform/running.js';
import { commandLine, runTerminalCommand, subcommand, terminalCommand } from './terminal-command.js';
import { textTable, textTime } from './text-table.js';

interface AccountOptions {
  readonly account: string;
}
type SettingOptions = AccountOptions & LimitOptions & BudgetOptions & ApprovalOption;
type FormatOptions = SettingOptions & Pick<ClientOptions, 'responseFormat'>;
type KeyOptions = SettingOptions & ClientOptions & KeyUseOptions;
type CreateOptions = KeyOptions & { readonly name?: string; readonly for?: string };

/** `keys create|list|update|revoke|account`. Throws SetupError that explains the problem. */
export async function keys(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  say: (line: string) => void,
): Promise<void> {
  const commands = new KeyCommands(env, say);
  const program = terminalCommand('keys', 'Manages API keys, and the limits and budget of an account.', say);
  const own = [
    new Option('--name <name>', 'name shown in lists'),
    new Option('--for <client>', 'print the settings for this client').choices(RECIPE_CLIENTS),
  ];
  const ofKey = [
    ...[...keyLimitOptions(), ...keyUseOptions(), ...clientOptions(), ...budgetOptions(), approvalOption()],
    accountOption(),
  ];
  const ofAccount = [
    ...accountLimitOptions(),
    responseFormatOption(),
    ...budgetOptions(),
    approvalOption(),
    accountOption(),
  ];
  subcommand(program, 'create', 'create a key and print it (shown only once)', [...own, ...ofKey]).action(
    (options: CreateOptions) => commands.create(options),
  );
  subcommand(program, 'list', 'list keys with their limits and spend', [accountOption()]).action(
    ({ account }: AccountOptions) => commands.list(account),
  );
  subcommand(program, 'update <key>', 'change the key with this ID or prefix', ofKey).action(
    (key: string, options: KeyOptions) => commands.update(key, options),
  );
  subcommand(program, 'revoke <key>', 'revoke the key with this ID or prefix; takes effect within 10 s', [
    accountOption(),
  ]).action((key: string, { account }: AccountOptions) => commands.revoke(key, account));
  subcommand(program, 'account', "show or set the account's limits and budget", ofAccount).action(
    (options: FormatOptions) => commands.account(options),
  );
  await runTerminalCommand(program, args);
}

/** The context of a command. */
interface OpenKeys {
  readonly database: PrismaService;
  readonly keys: ApiKeyRepository;
  readonly newKeys: NewKeyRepository;
  /** Name of the account. */
  readonly name: string;
  readonly note: (action: AuditAction, target: string, details: Record<string, unknown>) => Promise<void>;
}

class KeyCommands {
  private readonly config: StandaloneConfig;
  private readonly accounts: AccountsConfig;

  constructor(
    env: Readonly<Record<string, string | undefined>>,
    private readonly say: (line: string) => void,
  ) {
    [this.config, this.accounts] = loadConfig([StandaloneConfig, AccountsConfig], env);
  }

  async create(options: CreateOptions): Promise<void> {
    const { account, for: client, name = client ?? 'unnamed' } = options;
    if (!VISIBLE_NAME.test(name)) throw new SetupError('The name must have 1 to 100 visible characters.');
    const budget = budgetSetting(options);
    const settings = settingsIn(options);
    const { secretKey, url } = findRunning(this.config);
    if (secretKey === undefined)
      throw new SetupError(`SECRET_KEY is unknown: ${notRunning(this.config, 'SECRET_KEY')}.`);
    await this.open(account, async ({ database, newKeys, note }) => {
      const wanted = { name, accountId: account, settings, createdBy: 'command' };
      const { id, key } = await newKeys.create(wanted, this.accounts.keysPerAccount).catch(tellHowToRaise(account));
      await budgetAfter(database, { ownerId: id, owner: 'key' }, budget);
      await note('key.created', id, { name, ...changesOf(options, budget) });
      this.say(`${key}\n\nThis is the key "${name}" (${id}). Store it now: it is not shown again.`);
      if (client !== undefined) this.say(`\n${recipeText(client, url ?? 'http://<address of Darkroom>', key)}`);
    });
  }

  async list(account: string): Promise<void> {
    await this.open(account, async ({ database, keys }) => this.say(await list(database, keys, account)));
  }

  async update(target: string, options: KeyOptions): Promise<void> {
    const { account } = options;
    const budget = budgetSetting(options);
    const changes = changesOf(options, budget);
    if (Object.keys(changes).length === 0)
      throw new SetupError(`Specify what to change: \`${commandLine('keys')} update --help\` lists the options.`);
    await this.open(account, async ({ database, keys, note }) => {
      const key = found(await keys.update(target, settingsIn(options), account), target);
      const after = await budgetAfter(database, { ownerId: key.id, owner: 'key' }, budget);
      await note('key.changed', key.id, { name: key.name, changes });
      this.say(updated(key, after));
    });
  }

  async revoke(target: string, account: string): Promise<void> {
    await this.open(account, async ({ keys, note }) => {
      const { key, changed } = found(await keys.revoke(target, account), target);
      if (changed) await note('key.revoked', key.id, { name: key.name });
      this.say(changed ? revoked(key) : `The key "${key.name}" (${key.id}) was revoked before; nothing changed.`);
    });
  }

  async account(options: FormatOptions): Promise<void> {
    const { account } = options;
    const budget = budgetSetting(options);
    const limits = limitsIn(options);
    const client = clientSettings({ responseFormat: options.responseFormat });
    await this.open(account, async ({ database, name, note }) => {
      const after = await budgetAfter(database, { ownerId: account, owner: 'account' }, budget);
      if (budget !== undefined) {
        const { amount, period } = told(budget);
        await note('account.budget_set', account, { name, budget: amount, period });
      }
      if (Object.keys(limits).length > 0) {
        await new AccountStore(database).setLimits(account, limits);
        await note('account.limits_set', account, { name, changes: limitChanges(limits) });
      }
      const { defaultResponseFormat: format } = client;
      if (format !== undefined) {
        await new AccountStore(database).setResponseFormat(account, format);
        await note('account.limits_set', account, { name, changes: clientChanges(client) });
      }
      const { approveAboveMicros } = approvalSetting(options);
      if (approveAboveMicros !== undefined) {
        await new AccountStore(database).setApproveAbove(account, approveAboveMicros);
        await note('account.limits_set', account, { name, changes: approvalChanges(options) });
      }
      const { limits: all, defaultResponseFormat, approveAbove } = await namedAccount(database, account);
      const answers = defaultResponseFormat === null ? '' : `\nIts response format is ${defaultResponseFormat}.`;
      this.say(
        `The budget of the account is ${budgetText(after)}${approvalText(approveAbove)}.\nIts limits are: ${limitsText(all)}.${answers}`,
      );
    });
  }

  private async open(account: string, work: (opened: OpenKeys) => Promise<void>): Promise<void> {
    await withDatabase(requireDatabaseUrl(this.config), async (database) => {
      const { name } = await namedAccount(database, account);
      const keys = new ApiKeyRepository(database);
      const newKeys = new NewKeyRepository(database, { secretKey: findRunning(this.config).secretKey ?? '' });
      const note: OpenKeys['note'] = (action, target, details) =>
        noteCommand(database, action, { account, target, details });
      await work({ database, keys, newKeys, name, note });
    });
  }
}

/** Replaces `account_limit_reached` with advice for an operator, who can raise the limit. */
function tellHowToRaise(account: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof AppError)) throw error;
    throw new SetupError(
      `The account has reached its limit of keys. Revoke one, or raise the limit: ` +
        `${commandLine('keys')} account --account ${account} --max-keys <number>`,
    );
  };
}

function found<T extends object>(result: T | 'unknown' | 'ambiguous', target: string): T {
  if (result === 'unknown') throw new SetupError(`There is no key with the id or prefix ${target}.`);
  if (result === 'ambiguous') throw new SetupError(`Several keys begin with ${target}; use an ID.`);
  return result;
}

function recipeText(name: string, address: string, key: string): string {
  const recipe = clientRecipe(name, { address, key });
  if (recipe === undefined) return '';
  const { client, where, env, fields } = recipe;
  const lines = env === true ? fields.map(([variable, value]) => `${variable}=${value}`).join('\n') : textTable(fields);
  const { hostname } = new URL(URL.canParse(address) ? address : 'http://unknown');
  const warning = /^(localhost|127\.|\[::1\])/.test(hostname)
    ? `\n\nA client in a container can't reach ${hostname}: use an address that works from there, as PUBLIC_URL, too.`
    : '';
  return `Enter in ${client} (${where}):\n\n${lines}${warning}\n\nMore: docs/clients.md`;
}

function revoked({ name, id }: ApiKeyRow): string {
  return `The key "${name}" (${id}) is revoked; it stops working within 10 s.`;
}

function updated(key: ApiKeyRow, budget: Budget | undefined): string {
  const all = `${limitsOf(key)}, budget ${budgetText(budget)}${approvalText(key.approveAboveMicros)}`;
  return `The key "${key.name}" (${key.id}) has ${all}; this takes effect within 10 s.`;
}

function settingsIn(options: KeyOptions): Partial<ApiKeySettings> {
  return {
    ...limitsIn(options),
    ...clientSettings(options),
    ...approvalSetting(options),
    ...keyUseSettings(options),
  };
}

/** The changed settings of a key, named as in the console's audit log. */
function changesOf(options: KeyOptions, budget: BudgetSetting): Record<string, unknown> {
  const changes = {
    ...limitChanges(limitsIn(options)),
    ...clientChanges(clientSettings(options)),
    ...approvalChanges(options),
    ...keyUseChanges(options),
  };
  if (budget === undefined) return changes;
  const { amount, period } = told(budget);
  return { ...changes, budget: amount, budget_period: period };
}

function told(budget: Exclude<BudgetSetting, undefined>): { amount: string | null; period: string | null } {
  return budget === null ? { amount: null, period: null } : { amount: decimalOf(budget.limit), period: budget.period };
}

/** The budget after it was set, removed, or left unchanged. */
async function budgetAfter(
  database: PrismaService,
  owner: Pick<Budget, 'ownerId' | 'owner'>,
  budget: BudgetSetting,
): Promise<Budget | undefined> {
  const budgets = new BudgetRepository(database);
  if (budget !== undefined) await budgets.set(owner, budget ?? undefined);
  return (await budgets.find([owner.ownerId]))[0];
}

function limitsOf(key: ApiKeyRow): string {
  return `${limitsText(key)}${clientText(key)}${keyUseText(key)}`;
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
