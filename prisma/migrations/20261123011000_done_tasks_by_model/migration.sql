-- Lists of the tasks of one model, as those of one key.
CREATE INDEX CONCURRENTLY "tasks_done_model_idx" ON "tasks"("account_id", "model", "created_at" DESC, "id" DESC) WHERE "phase" = 'done';
