-- Finds what waits for an approval, however long the queue is. Only a few rows are in it, and it names no column that a run changes.
CREATE INDEX CONCURRENTLY "tasks_open_approval_idx" ON "tasks"("id") WHERE "approval" IS NOT NULL AND "finished_at" IS NULL;
