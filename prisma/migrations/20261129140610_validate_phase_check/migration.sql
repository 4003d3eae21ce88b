-- Reads the whole table, and blocks neither reads nor writes while it does.
ALTER TABLE "tasks" VALIDATE CONSTRAINT "tasks_phase_check";
