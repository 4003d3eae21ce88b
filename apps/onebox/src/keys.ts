import { parseArgs } from 'node:util';
import type { Pool } from 'pg';
import { loadConfig } from '#config/load-config.js';
import { decimalOf } from '#contract/money.js';
import { VISIBLE_NAME } from '#contract/text-rules.js';
import {
  createApiKey,
  DEFAULT_ACCOUNT,
  listApiKeys,
  revokeApiKey,
  updateApiKey,
  type ApiKeyRow,
  type ApiKeySettings,
} from '#database/api-keys.js';
import { SetupError } from '#embedded/setup-error.js';
import { findBudgets, setBudget, type Budget } from '#money/budgets.js';
import type { AuditAction } from '#people/audit-actions.js';
import { namedAccount } from './account-option.js';
import { BUDGET_OPTIONS, budgetText, readBudget, type BudgetSetting } from './budget-options.js';
import { noteCommand } from './note-command.js';
import { OneboxConfig } from './onebox.config.js';
import { findRunning, notRunning, requireDatabaseUrl, withPool } from './running.js';
import { textTable, textTime } from './text-table.js';

const USAGE = `How to use it:
  npm run keys -- create --name <name> [settings]
  npm run keys -- list
  npm run keys -- update <id or prefix> [settings]
  npm run keys -- revoke <id or prefix>
  npm run keys -- account [budget]   shows or sets what all keys together may spend
Each of them takes --account <id>; without it, it is about the first account. The console shows the ids.
Settings:
  --weight <1 to 100>            turns in the queue, relative to other keys
  --submits-per-minute <number>  image requests; 0 = any number, default = as the deployment says
  --polls-per-minute <number>    reads of tasks; likewise
  --tasks-in-flight <number>     tasks that wait or run at a time; likewise
and for its budget:
  --budget <amount>              what it may spend, in the currency of the prices; none = no budget
  --budget-period <month|total>  for each month of the calendar (the default), or once`;

/** Options of the command line by the setting they change. */
const OPTIONS = {
  weight: 'weight',
  'submits-per-minute': 'submitsPerMinute',
  'polls-per-minute': 'pollsPerMinute',
  'tasks-in-flight': 'tasksInFlight',
} as const satisfies Record<string, keyof ApiKeySettings>;
type Option = keyof typeof OPTIONS;

const MAX_LIMIT = 1_000_000_000;
const MAX_WEIGHT = 100;

/** `keys create|list|update|revoke|account`. Throws SetupError with a sentence or the usage. */
export async function keys(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  say: (line: string) => void,
): Promise<void> {
  const [config] = loadConfig([OneboxConfig], env);
  const { command, account, name, target, settings, budget } = parse(args);
  await withPool(requireDatabaseUrl(config), async (pool) => {
    const { name: accountName } = await namedAccount(pool, account);
    const note = (action: AuditAction, target: string, details: Record<string, unknown>): Promise<void> =>
      noteCommand(pool, action, { account, target, details });
    if (command === 'list') say(await list(pool, account));
    else if (command === 'revoke') {
      const key = found(await revokeApiKey(pool, target, account), target);
      await note('key.revoked', key.id, { name: key.name });
      say(revoked(key));
    } else if (command === 'update') {
      const key = found(await updateApiKey(pool, target, settings, account), target);
      const after = await budgetAfter(pool, { ownerId: key.id, owner: 'key' }, budget);
      await note('key.changed', key.id, { name: key.name, changes: changesOf(settings, budget) });
      say(updated(key, after));
    } else if (command === 'account') {
      const after = await budgetAfter(pool, { ownerId: account, owner: 'account' }, budget);
      if (budget !== undefined) {
        const { amount, period } = told(budget);
        await note('account.budget_set', account, { name: accountName, budget: amount, period });
      }
      say(`The budget of the account is ${budgetText(after)}.`);
    } else {
      const { secretKey } = findRunning(config);
      if (secretKey === undefined)
        throw new SetupError(`SECRET_KEY is not known: ${notRunning(config, 'SECRET_KEY')}.`);
      const { id, key } = await createApiKey(pool, secretKey, { name, accountId: account, settings });
      await budgetAfter(pool, { ownerId: id, owner: 'key' }, budget);
      await note('key.created', id, { name, ...changesOf(settings, budget) });
      say(`${key}\n\nThis is the key "${name}" (${id}). It is shown only now; keep it.`);
    }
  });
}

interface KeysCommand {
  readonly command: 'create' | 'list' | 'update' | 'revoke' | 'account';
  /** Id of the account that it is about. */
  readonly account: string;
  readonly name: string;
  readonly target: string;
  readonly settings: Partial<ApiKeySettings>;
  readonly budget: BudgetSetting;
}

function parse(args: readonly string[]): KeysCommand {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: {
        name: { type: 'string', default: 'unnamed' },
        account: { type: 'string', default: DEFAULT_ACCOUNT },
        weight: { type: 'string' },
        'submits-per-minute': { type: 'string' },
        'polls-per-minute': { type: 'string' },
        'tasks-in-flight': { type: 'string' },
        ...BUDGET_OPTIONS,
      },
      allowPositionals: true,
    });
    const [command, target = '', ...rest] = positionals;
    const { account } = values;
    const settings = readSettings(values);
    const budget = readBudget(values);
    const limits = Object.keys(settings).length > 0;
    const changes = limits || budget !== undefined;
    if (!VISIBLE_NAME.test(values.name)) throw new SetupError('A name has 1 to 100 visible characters.');
    if (rest.length > 0) throw new SetupError(USAGE);
    if (command === 'create' && target === '') return { command, account, name: values.name, target, settings, budget };
    if (command === 'list' && target === '' && !changes)
      return { command, account, name: '', target, settings, budget };
    if (command === 'account' && target === '' && !limits)
      return { command, account, name: '', target, settings, budget };
    if (command === 'update' && target !== '' && changes)
      return { command, account, name: '', target, settings, budget };
    if (command === 'revoke' && target !== '' && !changes)
      return { command, account, name: '', target, settings, budget };
  } catch (error) {
    if (error instanceof SetupError) throw error;
  }
  throw new SetupError(USAGE);
}

function readSettings(values: Readonly<Partial<Record<Option, string>>>): Partial<ApiKeySettings> {
  return Object.fromEntries(
    (Object.keys(OPTIONS) as Option[]).flatMap((option) => {
      const text = values[option];
      return text === undefined ? [] : [[OPTIONS[option], readSetting(option, text)]];
    }),
  );
}

function readSetting(option: Option, text: string): number | null {
  const [least, most] = option === 'weight' ? [1, MAX_WEIGHT] : [0, MAX_LIMIT];
  if (text === 'default') return option === 'weight' ? 1 : null;
  const value = /^\d{1,10}$/.test(text) ? Number(text) : NaN;
  if (value >= least && value <= most) return value;
  throw new SetupError(`--${option} takes a whole number from ${least} to ${most}, or default.`);
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
function changesOf(settings: Partial<ApiKeySettings>, budget: BudgetSetting): Record<string, unknown> {
  const set = (Object.keys(OPTIONS) as Option[])
    .filter((option) => settings[OPTIONS[option]] !== undefined)
    .map((option) => [option.replaceAll('-', '_'), settings[OPTIONS[option]]]);
  if (budget !== undefined) {
    const { amount, period } = told(budget);
    set.push(['budget', amount], ['budget_period', period]);
  }
  return Object.fromEntries(set) as Record<string, unknown>;
}

function told(budget: Exclude<BudgetSetting, undefined>): { amount: string | null; period: string | null } {
  return budget === null ? { amount: null, period: null } : { amount: decimalOf(budget.limit), period: budget.period };
}

/** The budget as it is after it was set, taken away, or left alone. */
async function budgetAfter(
  pool: Pool,
  owner: Pick<Budget, 'ownerId' | 'owner'>,
  budget: BudgetSetting,
): Promise<Budget | undefined> {
  if (budget !== undefined) await setBudget(pool, owner, budget ?? undefined);
  return (await findBudgets(pool, [owner.ownerId]))[0];
}

function limitsOf(key: ApiKeyRow): string {
  const text = (value: number | null): string => (value === 0 ? 'any' : String(value ?? 'default'));
  return (
    `weight ${key.weight}, submits/min ${text(key.submitsPerMinute)}, polls/min ${text(key.pollsPerMinute)}, ` +
    `in flight ${text(key.tasksInFlight)}${key.scopes.length === 0 ? '' : `, only ${key.scopes.join(' ')}`}`
  );
}

async function list(pool: Pool, account: string): Promise<string> {
  const rows = await listApiKeys(pool, account);
  const budgets = await findBudgets(pool, [account, ...rows.map(({ id }) => id)]);
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
