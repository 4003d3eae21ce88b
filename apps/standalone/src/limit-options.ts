import { SetupError } from '#embedded/setup-error.js';
import type { AccountLimits } from '#accounts/account-store.js';

/** Options of the command line by the limit that they set, of a key or of an account. */
const LIMITS = {
  weight: 'weight',
  'submits-per-minute': 'submitsPerMinute',
  'polls-per-minute': 'pollsPerMinute',
  'tasks-in-flight': 'tasksInFlight',
  'chats-per-minute': 'chatsPerMinute',
  'max-keys': 'maxKeys',
} as const satisfies Record<string, keyof AccountLimits>;
type Option = keyof typeof LIMITS;

const MAX_LIMIT = 1_000_000_000;
const MAX_WEIGHT = 100;

const text = { type: 'string' } as const;
export const LIMIT_OPTIONS = {
  weight: text,
  'submits-per-minute': text,
  'polls-per-minute': text,
  'tasks-in-flight': text,
  'chats-per-minute': text,
  'max-keys': text,
} satisfies Record<Option, typeof text>;

/** Throws SetupError with a sentence. */
export function readLimits(values: Readonly<Partial<Record<Option, string>>>): Partial<AccountLimits> {
  return Object.fromEntries(
    (Object.keys(LIMITS) as Option[]).flatMap((option) => {
      const given = values[option];
      return given === undefined ? [] : [[LIMITS[option], readLimit(option, given)]];
    }),
  );
}

function readLimit(option: Option, given: string): number | null {
  const [least, most] = option === 'weight' ? [1, MAX_WEIGHT] : [0, MAX_LIMIT];
  if (given === 'default') return option === 'weight' ? 1 : null;
  const value = /^\d{1,10}$/.test(given) ? Number(given) : NaN;
  if (value >= least && value <= most) return value;
  throw new SetupError(`--${option} takes a whole number from ${least} to ${most}, or default.`);
}

/** What was set, under the names that the console writes into the audit log. */
export function limitChanges(limits: Partial<AccountLimits>): Record<string, number | null> {
  return Object.fromEntries(
    (Object.keys(LIMITS) as Option[]).flatMap((option) => {
      const value = limits[LIMITS[option]];
      return value === undefined ? [] : [[option.replaceAll('-', '_'), value]];
    }),
  );
}

/** `weight 1, submits/min default, ...`, of whom it has. */
export function limitsText(limits: Partial<AccountLimits>): string {
  const names = { weight: 'weight', submitsPerMinute: 'submits/min', pollsPerMinute: 'polls/min' };
  const all = { ...names, chatsPerMinute: 'chats/min', tasksInFlight: 'in flight', maxKeys: 'keys' };
  return (Object.keys(all) as (keyof AccountLimits)[])
    .filter((name) => limits[name] !== undefined)
    .map((name) => `${all[name]} ${limits[name] === 0 ? 'any' : (limits[name] ?? 'default')}`)
    .join(', ');
}
