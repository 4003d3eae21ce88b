import { InvalidArgumentError, Option } from 'commander';
import type { AccountLimits } from '#accounts/account-store.js';
import {
  ACCOUNT_LIMIT_NAMES,
  ACCOUNT_LIMITS,
  type AccountLimitColumn,
  type AccountLimitName,
} from '#contract/account-limits.js';

const MAX_LIMIT = 1_000_000_000;
const MAX_WEIGHT = 100;

/** Values of the options; undefined = not given. */
export type LimitOptions = { readonly [name in keyof AccountLimits]?: number | 'default' };

/** Limits that keys have, too. */
const OF_KEYS: readonly AccountLimitName[] = ['submits_per_minute', 'polls_per_minute', 'tasks_in_flight'];

/** Options that set a key's limits. */
export function keyLimitOptions(): Option[] {
  return [weight("the account's other keys"), ...OF_KEYS.map(limit)];
}

/** Options that set an account's limits. */
export function accountLimitOptions(): Option[] {
  return [weight('other accounts'), ...ACCOUNT_LIMIT_NAMES.map(limit)];
}

function weight(others: string): Option {
  const description = `queue share relative to ${others}, 1 to ${MAX_WEIGHT}`;
  return new Option('--weight <number>', description).argParser(limitOf(1, MAX_WEIGHT));
}

function limit(name: AccountLimitName, index: number): Option {
  const values = index === 0 ? "0 = unlimited, default = the deployment's default" : 'same values';
  const description = `${ACCOUNT_LIMITS[name].option}; ${values}`;
  return new Option(`--${name.replaceAll('_', '-')} <number>`, description).argParser(limitOf(0, MAX_LIMIT));
}

function limitOf(least: number, most: number): (given: string) => number | 'default' {
  return (given) => {
    if (given === 'default') return given;
    const value = /^\d{1,10}$/.test(given) ? Number(given) : NaN;
    if (value >= least && value <= most) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}, or default.`);
  };
}

const WORDS: Readonly<Record<keyof AccountLimits, string>> = {
  weight: 'weight',
  ...(Object.fromEntries(Object.values(ACCOUNT_LIMITS).map(({ column, short }) => [column, short])) as Record<
    AccountLimitColumn,
    string
  >),
};
const NAMES = Object.keys(WORDS) as (keyof AccountLimits)[];

/** The limits that were given. */
export function limitsIn(options: LimitOptions): Partial<AccountLimits> {
  const usual = (name: keyof AccountLimits): number | null => (name === 'weight' ? 1 : null);
  return Object.fromEntries(
    NAMES.filter((name) => options[name] !== undefined).map((name) => {
      const given = options[name];
      return [name, given === 'default' ? usual(name) : given];
    }),
  );
}

/** The given limits, named as in the console's audit log. */
export function limitChanges(limits: Partial<AccountLimits>): Record<string, unknown> {
  const snakeCase = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(Object.entries(limits).map(([name, value]) => [snakeCase(name), value]));
}

/** `weight 1, submits/min default, ...`; only limits that are present. */
export function limitsText(limits: Partial<AccountLimits>): string {
  return NAMES.filter((name) => limits[name] !== undefined)
    .map((name) => `${WORDS[name]} ${limits[name] === 0 ? 'any' : (limits[name] ?? 'default')}`)
    .join(', ');
}
