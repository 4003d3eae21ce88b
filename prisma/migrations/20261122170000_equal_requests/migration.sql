-- An insert looks for equal requests that may be attached to (NO_EQUAL_REQUEST), and there may be thousands of equal ones: each
-- condition has an index that leads to nothing but its rows.
DROP INDEX "tasks_fingerprint_idx";
CREATE INDEX "tasks_fingerprint_abandoned_at_idx" ON "tasks"("fingerprint", "abandoned_at") WHERE "fingerprint" IS NOT NULL;
CREATE INDEX "tasks_fingerprint_failed_idx" ON "tasks"("fingerprint", "finished_at") WHERE "status" = 'failed' AND "fingerprint" IS NOT NULL;
CREATE INDEX "tasks_fingerprint_waiter_idx" ON "tasks"("fingerprint", "waiter") WHERE "status" = 'pending' AND "waiter" IS NOT NULL;
