-- Approvals by tag, and the account's own threshold beside the operators'.
ALTER TABLE "accounts" ADD COLUMN "own_approve_above_micros" BIGINT;
ALTER TABLE "accounts" ADD COLUMN "tag_approvals" JSONB NOT NULL DEFAULT '{}';

-- So that a deletion need not wait until the lease of a worker must have ended.
ALTER TABLE "tasks" ADD COLUMN "worker_stopped" BOOLEAN NOT NULL DEFAULT false;
