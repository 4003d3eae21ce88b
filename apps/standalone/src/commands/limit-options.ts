import { InvalidArgumentError, Option } from 'commander';
import type { AccountLimits } from '#accounts/account-store.js';

const MAX_LIMIT = 1_000_000_000;
const MAX_WEIGHT = 100;

/** Values of the options; undefined = not given. */
export type LimitOptions = { readonly [name in keyof AccountLimits]?: number | 'default' };

/** Options that set a key's limits. */
export function keyLimitOptions(): Option[] {
  return [
    new Option('--weight <number>', "queue share relative to the account's other keys, 1 to 100").argParser(
      limitOf(1, MAX_WEIGHT),
    ),
    ...sharedOptions(),
  ];
}

/** Options that set an account's limits. */
export function accountLimitOptions(): Option[] {
  return [
    new Option('--weight <number>', 'queue share relative to other accounts, 1 to 100').argParser(
      limitOf(1, MAX_WEIGHT),
    ),
    ...sharedOptions(),
    limit('--chats-per-minute <number>', 'chats per minute; same values'),
    limit('--max-keys <number>', "maximum active keys; 0 = unlimited, default = the deployment's default"),
  ];
}

function sharedOptions(): Option[] {
  return [
    limit(
      '--submits-per-minute <number>',
      "image requests per minute; 0 = unlimited, default = the deployment's default",
    ),
    limit('--polls-per-minute <number>', 'task reads per minute; same values'),
    limit('--tasks-in-flight <number>', 'tasks in flight (waiting or running); same values'),
  ];
}

function limit(flags: string, description: string): Option {
  return new Option(flags, description).argParser(limitOf(0, MAX_LIMIT));
}

function limitOf(least: number, most: number): (given: string) => number | 'default' {
  return (given) => {
    if (given === 'default') return given;
    const value = /^\d{1,10}$/.test(given) ? Number(given) : NaN;
    if (value >= least && value <= most) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}, or default.`);
  };
}

const LIMITS = {
  weight: 'weight',
  submitsPerMinute: 'submits/min',
  pollsPerMinute: 'polls/min',
  chatsPerMinute: 'chats/min',
  tasksInFlight: 'in flight',
  maxKeys: 'keys',
} as const satisfies Record<keyof AccountLimits, string>;
const NAMES = Object.keys(LIMITS) as (keyof AccountLimits)[];

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
    .map((name) => `${LIMITS[name]} ${limits[name] === 0 ? 'any' : (limits[name] ?? 'default')}`)
    .join(', ');
}
