-- Which task a caller's Idempotency-Key stands for. The primary key is what makes parallel calls one task.
CREATE TABLE "idempotency_keys" (
    "account_id" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "fingerprint" BYTEA NOT NULL,
    "task_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "idempotency_keys_pkey" PRIMARY KEY ("account_id", "key")
);

-- What retention walks, and what it asks before it deletes a task.
CREATE INDEX "idempotency_keys_expires_at_idx" ON "idempotency_keys"("expires_at");
CREATE INDEX "idempotency_keys_task_id_idx" ON "idempotency_keys"("task_id");

ALTER TABLE "tasks" ADD COLUMN "fingerprint" BYTEA, ADD COLUMN "delivered_at" TIMESTAMPTZ(3);

-- Only tasks of callers that count their retries are in it. It does not name delivered_at, so that marking a task
-- as delivered stays a heap-only update.
CREATE INDEX "tasks_fingerprint_idx" ON "tasks"("fingerprint") WHERE "fingerprint" IS NOT NULL;
