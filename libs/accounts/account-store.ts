import { ulid } from 'ulid';
import type { Queryable } from '#database/queryable.js';

/** What an account may do with all its keys together. Numbers: null = the deployment's default, 0 = unlimited. */
export interface AccountLimits {
  /** Share of the queue relative to other accounts, 1 to 100. */
  readonly weight: number;
  readonly submitsPerMinute: number | null;
  readonly pollsPerMinute: number | null;
  readonly chatsPerMinute: number | null;
  /** Tasks that may wait or run at a time. */
  readonly tasksInFlight: number | null;
  /** Keys that may work at a time. */
  readonly maxKeys: number | null;
}

export interface Account {
  readonly id: string;
  /** Not unique: a name that is taken would tell one account of another. */
  readonly name: string;
  readonly createdAt: Date;
  readonly disabledAt: Date | null;
  readonly limits: AccountLimits;
}

/** An account, and how many it has of what. */
export interface AccountRow extends Account {
  /** Who may sign in. */
  readonly people: number;
  /** Those of them who manage the account. */
  readonly admins: number;
  /** Keys that work. */
  readonly keys: number;
}

const LIMITS: Readonly<Record<keyof AccountLimits, string>> = {
  weight: 'weight',
  submitsPerMinute: 'submits_per_minute',
  pollsPerMinute: 'polls_per_minute',
  chatsPerMinute: 'chats_per_minute',
  tasksInFlight: 'tasks_in_flight',
  maxKeys: 'max_keys',
};
const COLUMNS = `id, name, created_at AS "createdAt", disabled_at AS "disabledAt", json_build_object(${Object.entries(
  LIMITS,
)
  .map(([name, column]) => `'${name}', ${column}`)
  .join(', ')}) AS limits`;

/** Who owns keys, tasks and people. */
export class AccountStore {
  constructor(private readonly database: Queryable) {}

  /** All accounts, or the one with this id, oldest first. */
  async list(id?: string): Promise<AccountRow[]> {
    const { rows } = await this.database.query<AccountRow>(
      `SELECT ${COLUMNS}, people, admins,
         (SELECT count(*)::int FROM api_keys WHERE account_id = accounts.id AND NOT hidden
           AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())) AS keys
       FROM accounts, LATERAL (
         SELECT count(*)::int AS people, count(*) FILTER (WHERE role = 'admin')::int AS admins
         FROM people WHERE account_id = accounts.id AND people.disabled_at IS NULL) AS counted
       WHERE $1::text IS NULL OR id = $1 ORDER BY created_at, id`,
      [id ?? null],
    );
    return rows;
  }

  async find(id: string): Promise<Account | undefined> {
    const { rows } = await this.database.query<Account>(`SELECT ${COLUMNS} FROM accounts WHERE id = $1`, [id]);
    return rows[0];
  }

  /** `id` as `newAccountId` makes them. */
  async create(id: string, name: string, limits: Partial<AccountLimits> = {}): Promise<void> {
    const set = entriesOf(limits);
    await this.database.query(
      `INSERT INTO accounts (${['id', 'name', ...set.map(([column]) => column)].join(', ')})
       VALUES (${['$1', '$2', ...set.map((_, index) => `$${index + 3}`)].join(', ')})`,
      [id, name, ...set.map(([, value]) => value)],
    );
  }

  async rename(id: string, name: string): Promise<void> {
    await this.database.query('UPDATE accounts SET name = $2 WHERE id = $1', [id, name]);
  }

  /** Sets the limits that are named, and leaves the others. */
  async setLimits(id: string, limits: Partial<AccountLimits>): Promise<void> {
    const set = entriesOf(limits);
    if (set.length === 0) return;
    const columns = set.map(([column], index) => `${column} = $${index + 2}`);
    await this.database.query(`UPDATE accounts SET ${columns.join(', ')} WHERE id = $1`, [
      id,
      ...set.map(([, value]) => value),
    ]);
  }

  /** Shuts an account and ends the sessions of its people, or opens it again; one that is so already stays as it is. */
  async setDisabled(id: string, disabled: boolean): Promise<void> {
    await this.database.query(
      `WITH ended AS (DELETE FROM sessions USING people WHERE $2 AND people.id = person_id AND account_id = $1)
       UPDATE accounts SET disabled_at = CASE WHEN $2 THEN COALESCE(disabled_at, now()) END WHERE id = $1`,
      [id, disabled],
    );
  }
}

/** Columns and values. */
function entriesOf(limits: Partial<AccountLimits>): [string, number | null][] {
  return (Object.keys(limits) as (keyof AccountLimits)[]).map((name) => [LIMITS[name], limits[name] ?? null]);
}

export function newAccountId(): string {
  return `acct_${ulid()}`;
}
