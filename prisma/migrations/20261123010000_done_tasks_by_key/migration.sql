-- Lists of one key's tasks. Only statements that name the phase can take it, so none that submits or moves a task is led through
-- all of a key's tasks: see docs/decisions/2026-11-22-indexes-of-tasks.md.
CREATE INDEX CONCURRENTLY "tasks_done_api_key_id_idx" ON "tasks"("api_key_id", "created_at" DESC, "id" DESC) WHERE "phase" = 'done';
