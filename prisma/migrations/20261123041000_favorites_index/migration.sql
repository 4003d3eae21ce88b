-- An account's favorites, newest first: few among many tasks.
CREATE INDEX CONCURRENTLY "tasks_favorites_idx" ON "tasks"("account_id", "created_at" DESC, "id" DESC) WHERE "favorited_at" IS NOT NULL;
