-- Lists of what one person ordered in the console, as those of one key: few among an account's tasks.
CREATE INDEX CONCURRENTLY "tasks_done_ordered_by_idx" ON "tasks"("ordered_by", "created_at" DESC, "id" DESC) WHERE "phase" = 'done' AND "ordered_by" IS NOT NULL;
