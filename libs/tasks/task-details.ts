import type { Queryable } from '#database/queryable.js';
import type { TaskInput, TaskOptions } from './task.js';

/** What the account's own people see of a task besides what polls tell. */
export interface TaskDetail {
  readonly id: string;
  readonly prompt: string;
  readonly keyId: string;
  readonly keyName: string;
  /** A small copy of its picture lies beside that. */
  readonly hasThumbnail: boolean;
  /** When its pictures and reference images were deleted; null while they are kept. */
  readonly objectsDeletedAt: Date | null;
  /** How many images it was made from. */
  readonly inputs: number;
  readonly masked: boolean;
  /** The failed task that it was drawn anew of, for an operator. */
  readonly redriveOf: string | null;
}

/** What a task was made from. */
export interface TaskOrder {
  readonly action: 'generation' | 'edit';
  readonly model: string;
  readonly prompt: string;
  readonly options: TaskOptions;
  readonly inputs: readonly TaskInput[];
  readonly mask: TaskInput | null;
}

/** Reads what polls leave out. Every query names the account. */
export class TaskDetails {
  constructor(private readonly database: Queryable) {}

  /** By id; `promptLength` cuts the prompts, in code points. */
  async of(accountId: string, ids: readonly string[], promptLength: number): Promise<Map<string, TaskDetail>> {
    const { rows } = await this.database.query<TaskDetail>(
      `SELECT tasks.id, left(prompt, $3) AS prompt, api_key_id AS "keyId", redrive_of AS "redriveOf",
         COALESCE(api_keys.name, '') AS "keyName", has_thumbnail AS "hasThumbnail", objects_deleted_at AS "objectsDeletedAt",
         jsonb_array_length(inputs) AS inputs, mask IS NOT NULL AS masked
       FROM tasks LEFT JOIN api_keys ON api_keys.id = api_key_id
       WHERE tasks.id = ANY($1) AND tasks.account_id = $2`,
      [ids, accountId, promptLength],
    );
    return new Map(rows.map((row) => [row.id, row]));
  }

  /** Id of the task that a failed one was drawn anew as; undefined when it was not. */
  async redrivenAs(accountId: string, id: string): Promise<string | undefined> {
    const { rows } = await this.database.query<{ id: string }>(
      'SELECT id FROM tasks WHERE redrive_of = $1 AND account_id = $2',
      [id, accountId],
    );
    return rows[0]?.id;
  }

  /** Undefined when the account has no such task. */
  async order(accountId: string, id: string): Promise<TaskOrder | undefined> {
    const { rows } = await this.database.query<TaskOrder>(
      'SELECT action, model, prompt, options, inputs, mask FROM tasks WHERE id = $1 AND account_id = $2',
      [id, accountId],
    );
    return rows[0];
  }
}
