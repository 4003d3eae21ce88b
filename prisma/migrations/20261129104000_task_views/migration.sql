-- Filters of the task list that a person saved in the console, by name.
ALTER TABLE "people" ADD COLUMN "task_views" JSONB;
