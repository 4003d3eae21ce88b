import type { Pool } from 'pg';

interface SettledTask {
  readonly id: string;
  readonly accountId: string;
  readonly apiKeyId: string;
  /** Millionths; the rest of the reserve is refunded. */
  readonly reserved: number;
  readonly settled: number;
  /** When it was accepted and its cost reserved, as SQL. */
  readonly acceptedAt?: string;
}

/** A completed task that no worker processed; triggers write its charges as usual. */
export async function insertSettledTask(pool: Pool, task: SettledTask): Promise<void> {
  const { id, accountId, apiKeyId, reserved, settled, acceptedAt = 'now()' } = task;
  await pool.query(
    `INSERT INTO tasks (id, account_id, api_key_id, request_id, action, model, prompt, options, created_at, lease_until, deadline_at, cost)
     VALUES ($1, $2, $3, 'req', 'generation', 'm', 'p', '{}', ${acceptedAt}, now() + interval '1 hour', now() + interval '1 hour', $4)`,
    [id, accountId, apiKeyId, JSON.stringify({ reserved, currency: 'USD', tokens: { input: 1_000_000, output: 0 } })],
  );
  await pool.query(`UPDATE charges SET created_at = ${acceptedAt} WHERE task_id = $1`, [id]);
  await pool.query(
    `UPDATE tasks SET status = 'completed', phase = 'done', finished_at = now(), lease_until = NULL, images = '[{}]', usage = $2
     WHERE id = $1`,
    [id, JSON.stringify({ input_tokens: settled, output_tokens: 0, total_tokens: settled })],
  );
}
