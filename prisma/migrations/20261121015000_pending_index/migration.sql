-- For the sweep, which walks the unfinished tasks by id. Its condition is spelt unlike that of a worker's moves
-- (status = 'pending'; a check keeps the two equal): else the planner may look a single task up by walking through
-- all that are unfinished, which costs more the longer the queue is.
DROP INDEX "tasks_pending_idx";
CREATE INDEX "tasks_unfinished_idx" ON "tasks"("id") WHERE "finished_at" IS NULL;
