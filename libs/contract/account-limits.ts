/** One limit that operators may set for all keys of an account together. */
export interface AccountLimitRow {
  /** Of the table `accounts`. */
  readonly column: string;
  /** Of the form that sets it. */
  readonly label: string;
  /** After its figure, in the console and in lists of commands. */
  readonly unit: string;
  readonly short: string;
  /** What the option of the command limits. */
  readonly option: string;
  readonly description?: string;
}

/**
 * The limits of accounts, by their names in the console's API. null = the deployment's default, 0 = unlimited. The form,
 * the lists, the API, the audit log and `npm run keys` read them here. A new one also needs its column, its default
 * (account-defaults.ts) and the place that refuses.
 */
export const ACCOUNT_LIMITS = {
  submits_per_minute: {
    column: 'submitsPerMinute',
    label: 'Requests per minute',
    unit: 'requests/min',
    short: 'submits/min',
    option: 'image requests per minute',
  },
  polls_per_minute: {
    column: 'pollsPerMinute',
    label: 'Status checks per minute',
    unit: 'status checks/min',
    short: 'polls/min',
    option: 'task reads per minute',
  },
  chats_per_minute: {
    column: 'chatsPerMinute',
    label: 'Chats per minute',
    unit: 'chats/min',
    short: 'chats/min',
    option: 'chats per minute',
  },
  tasks_in_flight: {
    column: 'tasksInFlight',
    label: 'Concurrent tasks',
    unit: 'concurrent tasks',
    short: 'in flight',
    option: 'tasks in flight (waiting or running)',
  },
  max_keys: {
    column: 'maxKeys',
    label: 'Keys',
    unit: 'keys',
    short: 'keys',
    option: 'maximum active keys',
    description: 'Maximum active keys.',
  },
} as const satisfies Record<string, AccountLimitRow>;

export type AccountLimitName = keyof typeof ACCOUNT_LIMITS;
export type AccountLimitColumn = (typeof ACCOUNT_LIMITS)[AccountLimitName]['column'];

/** In the order of forms and lists. */
export const ACCOUNT_LIMIT_NAMES = Object.keys(ACCOUNT_LIMITS) as AccountLimitName[];

/** A value for each limit, by its name. */
export function eachAccountLimit<T>(
  valueOf: (name: AccountLimitName, column: AccountLimitColumn) => T,
): Record<AccountLimitName, T> {
  const values = ACCOUNT_LIMIT_NAMES.map((name) => [name, valueOf(name, ACCOUNT_LIMITS[name].column)] as const);
  return Object.fromEntries(values) as Record<AccountLimitName, T>;
}
