CREATE INDEX CONCURRENTLY "tasks_fingerprint_completed_idx" ON "tasks"("fingerprint", "finished_at") WHERE "status" = 'completed' AND "waiter" IS NOT NULL;
