-- Insert looks for equal requests that needed an approval (HELD_BEFORE), and so do those that need one. Only a few rows are in
-- it, and it names no column that a delivery or a run changes.
CREATE INDEX CONCURRENTLY "tasks_fingerprint_approval_idx" ON "tasks"("fingerprint", "created_at") WHERE "approval" IS NOT NULL AND "fingerprint" IS NOT NULL;
