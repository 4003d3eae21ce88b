import type { Pool } from 'pg';

/** One change of a task's row, as recorded by the database, in order. */
export interface AuditLine {
  readonly taskId: string;
  readonly at: Date;
  readonly statusBefore: string | null;
  readonly status: string;
  readonly progressBefore: number | null;
  readonly progress: number;
  readonly attempt: number;
  readonly providerStarts: number;
  readonly phase: string;
}

/** Records every change of every task in the database itself, so that tests need not trust what processes report. */
export async function startAudit(pool: Pool): Promise<void> {
  await pool.query(`
    CREATE TABLE test_audit (seq bigserial PRIMARY KEY, at timestamptz NOT NULL DEFAULT clock_timestamp(), task_id text NOT NULL,
      status_before text, status text NOT NULL, progress_before int, progress int NOT NULL, attempt int NOT NULL,
      provider_starts int NOT NULL, phase text NOT NULL);
    CREATE FUNCTION test_audit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO test_audit (task_id, status_before, status, progress_before, progress, attempt, provider_starts, phase)
        VALUES (NEW.id, CASE TG_OP WHEN 'UPDATE' THEN OLD.status END, NEW.status,
          CASE TG_OP WHEN 'UPDATE' THEN OLD.progress END, NEW.progress, NEW.attempt, NEW.provider_starts, NEW.phase);
      RETURN NULL; END $$;
    CREATE TRIGGER test_audit AFTER INSERT OR UPDATE ON tasks FOR EACH ROW EXECUTE FUNCTION test_audit()`);
}

/** All lines so far, or those of some tasks. */
export async function readAudit(pool: Pool, taskIds?: readonly string[]): Promise<AuditLine[]> {
  const { rows } = await pool.query<AuditLine>(
    `SELECT task_id AS "taskId", at, status_before AS "statusBefore", status, progress_before AS "progressBefore", progress,
        attempt, provider_starts AS "providerStarts", phase
      FROM test_audit WHERE $1::text[] IS NULL OR task_id = ANY($1) ORDER BY seq`,
    [taskIds ?? null],
  );
  return rows;
}
