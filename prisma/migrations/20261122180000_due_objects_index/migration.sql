-- What retention walks first: tasks whose objects are still stored. Without it, each batch would read all that have been cleared.
CREATE INDEX CONCURRENTLY "tasks_objects_due_idx" ON "tasks"("finished_at") WHERE "status" <> 'pending' AND "objects_deleted_at" IS NULL;
