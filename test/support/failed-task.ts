import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '#contract/app-error.js';
import type { ErrorCode } from '#contract/error-codes.js';
import { taskError } from '#tasks/row/task.js';
import { newTaskId } from '#tasks/row/task-id.js';
import type { ApiPlatform } from './platform.js';

/** Columns of the row with other values than usual; objects are written as JSON. */
type Columns = Readonly<Record<string, unknown>>;
/** With the error. */
type FailedColumns = Columns & { readonly code?: ErrorCode; readonly message?: string };

/** Inserts a task, of the default account's key named `e2e`, that has just failed, and returns its id. */
export async function insertFailed({ pool }: Pick<ApiPlatform, 'pool'>, columns: FailedColumns = {}): Promise<string> {
  const { code = 'upstream_error', message = 'The provider could not be reached.', ...rest } = columns;
  const { rows } = await pool.query<{ id: string }>(`SELECT id FROM api_keys WHERE name = 'e2e'`);
  // Makes ids and times of two tasks differ, so that their order is defined.
  await delay(2);
  const id = newTaskId();
  const options = {
    size: '1:1',
    resolution: '1k',
    pixels: { width: 1024, height: 1024 },
    quality: null,
    background: null,
    moderation: null,
    inputFidelity: null,
    outputFormat: 'png',
    outputCompression: null,
    user: null,
  };
  const row: Columns = {
    id,
    account_id: 'acct_default',
    api_key_id: rows[0]?.id,
    request_id: 'req_old',
    action: 'generation',
    model: 'gpt-image-2',
    prompt: 'a secret wish',
    options,
    status: 'failed',
    phase: 'done',
    provider: 'house',
    finished_at: new Date(),
    deadline_at: new Date(),
    error: taskError(new AppError(code, message)),
    ...rest,
  };
  const values = Object.values(row).map((value) =>
    typeof value === 'object' && value !== null && !(value instanceof Date) ? JSON.stringify(value) : value,
  );
  const places = values.map((_, index) => `$${index + 1}`);
  await pool.query(`INSERT INTO tasks (${Object.keys(row).join(', ')}) VALUES (${places.join(', ')})`, values);
  return id;
}
