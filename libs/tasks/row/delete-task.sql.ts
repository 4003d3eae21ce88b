import type { Queryable } from '#database/queryable.js';

/** Options whose values are chosen from lists or are numbers; all others may hold a caller's own texts. */
const KEPT_OPTIONS = [
  ...['size', 'resolution', 'pixels', 'n', 'quality', 'background', 'moderation', 'outputFormat', 'outputCompression'],
  ...['inputFidelity', 'complexity', 'frameCount', 'frameDurationMs', 'strict', 'region', 'onlyProvider'],
];

/** An object of the store, without what the request called it. */
const objectOf = (input: string): string => `jsonb_build_object('kind', 'object', 'key', ${input} -> 'key',
    'bytes', ${input} -> 'bytes', 'param', '')`;
/** Also one that the row calls deleted: the store may have failed then (DropInputs). */
const isStored = (input: string): string => `${input} ->> 'kind' = 'object'`;

/**
 * All that somebody wrote goes with the mark, in one statement: no later moment can find it. What names objects stays
 * until these are deleted. Rows are locked in order, because several workers delete what has expired. Status, cost and usage stay for good, so no trigger of the ledger runs.
 */
const DELETE = `WITH locked AS MATERIALIZED (SELECT id FROM tasks WHERE id = ANY($1) ORDER BY id FOR UPDATE),
  deleted AS (
    UPDATE tasks SET deleted_at = now(), objects_deleted_at = COALESCE(objects_deleted_at, now()), favorited_at = NULL,
      prompt = '', callback_url = NULL, error = NULL, warnings = NULL, provider_job_id = NULL, fingerprint = NULL, trace_parent = NULL,
      approval = approval - 'reason',
      options = (SELECT COALESCE(jsonb_object_agg(key, value), '{}') FROM jsonb_each(options) WHERE key = ANY($2)),
      inputs = (SELECT COALESCE(jsonb_agg(${objectOf('input')}), '[]') FROM jsonb_array_elements(inputs) AS input WHERE ${isStored('input')}),
      mask = CASE WHEN ${isStored('mask')} THEN ${objectOf('mask')}
        WHEN mask ->> 'kind' = 'markup' AND ${isStored("(mask -> 'of')")} THEN ${objectOf("mask -> 'of'")} END,
      calls = (SELECT COALESCE(jsonb_agg(call - 'providerMessage' - 'upstreamId' - 'adapted' ORDER BY place), '[]')
        FROM jsonb_array_elements(calls) WITH ORDINALITY AS each (call, place))
    WHERE id = ANY (ARRAY(SELECT id FROM locked)) AND status <> 'pending' AND deleted_at IS NULL
    RETURNING id, account_id, deleted_at)
  INSERT INTO task_erasures (task_id, account_id, deleted_at) SELECT id, account_id, deleted_at FROM deleted ORDER BY id
    ON CONFLICT (task_id) DO UPDATE SET deleted_at = EXCLUDED.deleted_at
    RETURNING task_id AS id`;

/** Marks ended tasks as deleted and erases their texts; returns the ids of those that were not deleted before. */
export async function deleteTasks(database: Queryable, ids: readonly string[]): Promise<string[]> {
  const { rows } = await database.query<{ id: string }>(DELETE, [ids, KEPT_OPTIONS]);
  return rows.map(({ id }) => id);
}

/** What was there of a task that was erased. */
export interface ErasedContents {
  readonly images: number;
  readonly inputs: number;
  readonly uploads: number;
  /** SHA-256 over the sorted SHA-256 digests of the images, each in hex and followed by a line break; hex. */
  readonly digest: string;
}

/** A deleted task whose objects may still exist. */
export interface TaskToErase {
  readonly id: string;
  readonly accountId: string;
  readonly status: string;
  readonly attempt: number;
  readonly n: number;
  readonly images: unknown;
  readonly inputs: unknown;
  readonly mask: unknown;
  /** Milliseconds since it ended. */
  readonly endedMs: number;
  /** Nobody asked for it: its lifetime was over, or it was not to be stored. */
  readonly isByItself: boolean;
  /** No worker stores anything of it any more; false: not known. */
  readonly workerStopped: boolean;
}

const TO_ERASE = `SELECT id, tasks.account_id AS "accountId", status, attempt, COALESCE((options ->> 'n')::int, 1) AS n, images, inputs, mask,
    COALESCE(EXTRACT(EPOCH FROM now() - finished_at) * 1000, 0)::float8 AS "endedMs",
    COALESCE(due_at <= task_erasures.deleted_at, false) AS "isByItself",
    worker_stopped AS "workerStopped"
  FROM task_erasures JOIN tasks ON id = task_id`;

/** The task, if it was deleted and its objects may still exist. */
export async function taskToErase(database: Queryable, id: string): Promise<TaskToErase | undefined> {
  const text = `${TO_ERASE} WHERE task_id = $1 AND task_erasures.deleted_at IS NOT NULL AND erased_at IS NULL`;
  return (await database.query<TaskToErase>(text, [id])).rows[0];
}

/** Ids of such tasks, in pages: the oldest first. */
export async function tasksToErase(
  database: Queryable,
  after: DeletedTask | undefined,
  limit: number,
): Promise<DeletedTask[]> {
  const text = `SELECT task_id AS id, deleted_at::text AS "deletedAt" FROM task_erasures
    WHERE deleted_at IS NOT NULL AND erased_at IS NULL AND (deleted_at, task_id) > (COALESCE($1::timestamptz, '-infinity'), $2)
    ORDER BY deleted_at, task_id LIMIT $3`;
  return (await database.query<DeletedTask>(text, [after?.deletedAt ?? null, after?.id ?? '', limit])).rows;
}

/** A deleted task, with its time as the database writes it. */
export interface DeletedTask {
  readonly id: string;
  readonly deletedAt: string;
}

/** Forgets the names of a task's objects, once they are deleted. Raw, because both rows change in one statement. */
export async function markErased(database: Queryable, id: string, contents: ErasedContents): Promise<void> {
  const text = `WITH emptied AS (UPDATE tasks SET images = NULL, inputs = '[]', mask = NULL, has_thumbnail = false WHERE id = $1)
    UPDATE task_erasures SET erased_at = now(), erased = $2 WHERE task_id = $1 AND erased_at IS NULL`;
  await database.query(text, [id, JSON.stringify(contents)]);
}

/** The first of the keys that rotations replaced by this one. */
const originalOf = (keyId: string): string =>
  `COALESCE((SELECT original_key_id FROM api_keys WHERE api_keys.id = ${keyId}), ${keyId})`;

/**
 * Whether a deleted task is the last one that needs an upload: it was made with the task's key, no other task of the account
 * that was not deleted names it, and no batch is in progress, whose lines are not known. Tasks from before the upload
 * can't name it, so this reads a part of the account's index. An upload without a row has expired.
 */
export async function isUploadUnused(
  database: Queryable,
  upload: { readonly id: string; readonly accountId: string; readonly key: string; readonly since: Date },
  taskId: string,
): Promise<boolean> {
  const text = `SELECT
      NOT EXISTS (SELECT 1 FROM batches WHERE account_id = $1 AND ended_at IS NULL)
      AND NOT EXISTS (SELECT 1 FROM uploads JOIN tasks ON tasks.id = $3
        WHERE uploads.id = $5 AND ${originalOf('uploads.api_key_id')} <> ${originalOf('tasks.api_key_id')})
      AND NOT EXISTS (SELECT 1 FROM tasks WHERE account_id = $1 AND created_at >= $2 AND id <> $3 AND deleted_at IS NULL
        AND (inputs @> jsonb_build_array(jsonb_build_object('key', $4::text)) OR mask ->> 'key' = $4 OR mask -> 'of' ->> 'key' = $4))
      AS "isUnused"`;
  const values = [upload.accountId, upload.since, taskId, upload.key, upload.id];
  return (await database.query<{ isUnused: boolean }>(text, values)).rows[0]?.isUnused === true;
}

/** Ended tasks whose lifetime is over, the longest overdue first. */
export async function expiredTasks(database: Queryable, limit: number): Promise<string[]> {
  const text = `SELECT task_id AS id FROM task_erasures JOIN tasks ON id = task_id
    WHERE due_at <= now() AND task_erasures.deleted_at IS NULL AND status <> 'pending' ORDER BY due_at LIMIT $1`;
  return (await database.query<{ id: string }>(text, [limit])).rows.map(({ id }) => id);
}
