-- The API process whose caller waits for a task, so that an equal request takes the task over when that process was killed
-- (LostCallers). No index names it.
ALTER TABLE "tasks" ADD COLUMN "waiter" TEXT;
