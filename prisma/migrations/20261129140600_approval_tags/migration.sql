-- Approvals by tag, and the account's own threshold beside the operators'.
ALTER TABLE "accounts" ADD COLUMN "own_approve_above_micros" BIGINT;
ALTER TABLE "accounts" ADD COLUMN "tag_approvals" JSONB NOT NULL DEFAULT '{}';

-- Emails to those who may approve.
ALTER TABLE "accounts" ADD COLUMN "approvals_mailed_at" TIMESTAMPTZ(3);

-- So that a deletion need not wait until the lease of a worker must have ended, unless the store may still be writing.
ALTER TABLE "tasks" ADD COLUMN "worker_stopped" BOOLEAN NOT NULL DEFAULT false, ADD COLUMN "may_store_late" BOOLEAN NOT NULL DEFAULT false;
