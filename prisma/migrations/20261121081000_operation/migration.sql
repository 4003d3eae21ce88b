-- Whose order a task repeats: an operator had a failed one drawn anew. However many try at once, the index lets one in.
ALTER TABLE "tasks" ADD COLUMN "redrive_of" TEXT;
CREATE UNIQUE INDEX "tasks_redrive_of_key" ON "tasks"("redrive_of") WHERE "redrive_of" IS NOT NULL;

-- What failed in all accounts, newest first. It changes only when a task ends, which is no heap-only update anyway.
CREATE INDEX "tasks_failed_idx" ON "tasks"("finished_at" DESC, "id" DESC) WHERE "status" = 'failed';
