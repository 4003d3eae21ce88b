import { AppError } from '#contract/app-error.js';
import { TASK_COLUMNS } from './task-columns.js';
import type { TaskCommand } from './task.js';

const COLUMNS = `id, account_id, api_key_id, request_id, action, model, prompt, options, inputs, mask, callback_url, fingerprint, deadline_at, estimated_ms, asynchronous, cost, redrive_of`;
const PLACES = `$1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::text, $8::jsonb, $9::jsonb, $10::jsonb, $11::text,
  $12::bytea, now() + $13 * interval '1 millisecond', $14::int, $15::boolean, $16::jsonb, $17::text`;

interface Statement {
  readonly name: string;
  readonly text: string;
  readonly values: unknown[];
}

/** The statement that makes a row of a command and returns it. */
export function insertTask(command: TaskCommand, deadlineMs: number, fingerprint: Buffer | null): Statement {
  return {
    name: 'task_insert',
    text: `INSERT INTO tasks (${COLUMNS}) VALUES (${PLACES}) RETURNING ${TASK_COLUMNS}`,
    values: valuesOf(command, deadlineMs, fingerprint),
  };
}

/** A caller's Idempotency-Key and what it stands for. */
export interface KeyedRequest {
  readonly key: string;
  readonly fingerprint: Buffer;
}

/**
 * The statement that takes a key and makes the row, both or neither; no row comes back when the key is taken.
 * A key whose time is over is taken again by exactly one of those who try.
 */
export function insertKeyedTask(command: TaskCommand, deadlineMs: number, request: KeyedRequest): Statement {
  return {
    name: 'task_insert_keyed',
    text: `WITH held AS (
        INSERT INTO idempotency_keys (account_id, key, fingerprint, task_id, expires_at)
        VALUES ($2, $18, $19, $1, now() + interval '24 hours')
        ON CONFLICT (account_id, key) DO UPDATE SET fingerprint = EXCLUDED.fingerprint, task_id = EXCLUDED.task_id,
          created_at = EXCLUDED.created_at, expires_at = EXCLUDED.expires_at
        WHERE idempotency_keys.expires_at <= now()
        RETURNING 1)
      INSERT INTO tasks (${COLUMNS}) SELECT ${PLACES} FROM held RETURNING ${TASK_COLUMNS}`,
    values: [...valuesOf(command, deadlineMs, null), request.key, request.fingerprint],
  };
}

/** The refusal that a failed insert stands for when the task it repeats was repeated before. */
export function redrivenAlready(error: unknown): AppError | undefined {
  const { code, constraint } = error as { code?: unknown; constraint?: unknown };
  if (code !== '23505' || constraint !== 'tasks_redrive_of_key') return undefined;
  return new AppError('already_exists', 'It was re-driven already.');
}

function valuesOf(command: TaskCommand, deadlineMs: number, fingerprint: Buffer | null): unknown[] {
  return [
    command.id,
    command.accountId,
    command.apiKeyId,
    command.requestId,
    command.action,
    command.model,
    command.prompt,
    JSON.stringify(command.options),
    JSON.stringify(command.inputs),
    command.mask === null ? null : JSON.stringify(command.mask),
    command.callbackUrl,
    fingerprint,
    deadlineMs,
    command.estimatedMs ?? null,
    command.asynchronous,
    command.cost === null ? null : JSON.stringify(command.cost),
    command.redriveOf ?? null,
  ];
}
