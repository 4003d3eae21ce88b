-- Lists of one key's tasks, however few of the account's they are.
CREATE INDEX CONCURRENTLY "tasks_api_key_id_idx" ON "tasks"("api_key_id", "created_at" DESC, "id" DESC);
