-- Lists of what has not been completed, which is rare in a long history.
CREATE INDEX CONCURRENTLY "tasks_account_id_status_idx" ON "tasks"("account_id", "status", "created_at" DESC, "id" DESC) WHERE "status" <> 'completed';
