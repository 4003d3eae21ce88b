-- Lists of what failed or was cancelled, which is rare in a long history. Pending tasks are not in it: statements that move
-- one find it by its id, and must not be led through a backlog.
CREATE INDEX CONCURRENTLY "tasks_account_id_status_idx" ON "tasks"("account_id", "status", "created_at" DESC, "id" DESC) WHERE "status" IN ('failed', 'cancelled');
