-- In no index, and written without a change of status: a heap-only update that no trigger of a task's moves sees.
ALTER TABLE "tasks" ADD COLUMN "has_thumbnail" BOOLEAN NOT NULL DEFAULT false;
