-- Pages of failures of one kind, which are few among all failures.
CREATE INDEX CONCURRENTLY "tasks_failed_kind_idx" ON "tasks"("model", "provider", "finished_at" DESC, "id" DESC) WHERE "status" = 'failed';
