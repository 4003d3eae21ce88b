-- An equal request takes over a task whose last caller left without its outcome (TaskIntake). Both columns are null for nearly
-- all tasks, and no index names them.
ALTER TABLE "tasks" ADD COLUMN "abandoned_at" TIMESTAMPTZ(3), ADD COLUMN "attached_by" TEXT;
