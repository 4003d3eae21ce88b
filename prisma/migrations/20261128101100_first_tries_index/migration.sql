CREATE INDEX CONCURRENTLY "tasks_fingerprint_retried_idx" ON "tasks"("fingerprint", "created_at") WHERE "attached_by" IS NOT NULL;
