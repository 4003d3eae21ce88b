-- Files of batches beside reference images, and batches: image requests in a file, which become tasks a few at a time.
ALTER TABLE "uploads" ADD COLUMN "purpose" TEXT, ADD COLUMN "file_name" TEXT;
ALTER TABLE "tasks" ADD COLUMN "batch_id" TEXT;

CREATE TABLE "batches" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "api_key_id" TEXT NOT NULL,
    "endpoint" TEXT NOT NULL,
    "input_file_id" TEXT NOT NULL,
    "output_file_id" TEXT,
    "error_file_id" TEXT,
    "status" TEXT NOT NULL DEFAULT 'validating',
    "total" INTEGER NOT NULL DEFAULT 0,
    "completed" INTEGER NOT NULL DEFAULT 0,
    "failed" INTEGER NOT NULL DEFAULT 0,
    "problems" JSONB,
    "metadata" JSONB,
    "results_kept" INTEGER NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "in_progress_at" TIMESTAMPTZ(3),
    "finalizing_at" TIMESTAMPTZ(3),
    "cancelling_at" TIMESTAMPTZ(3),
    "expired_at" TIMESTAMPTZ(3),
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "ended_at" TIMESTAMPTZ(3),
    "next_step_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "batches_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "batches_account_id_id_idx" ON "batches"("account_id", "id" DESC);
CREATE INDEX "batches_ended_at_idx" ON "batches"("ended_at");
-- Every API process looks for one that is due.
CREATE INDEX "batches_due" ON "batches"("next_step_at") WHERE "ended_at" IS NULL;

CREATE TABLE "batch_lines" (
    "batch_id" TEXT NOT NULL,
    "line" INTEGER NOT NULL,
    "custom_id" TEXT NOT NULL,
    "position" INTEGER NOT NULL,
    "bytes" INTEGER NOT NULL,
    "state" TEXT NOT NULL DEFAULT 'waiting',
    "task_id" TEXT,
    "late" INTEGER NOT NULL DEFAULT 0,
    "outcome" JSONB,

    CONSTRAINT "batch_lines_pkey" PRIMARY KEY ("batch_id", "line")
);
-- A batch of 50,000 lines is not walked through at each step.
CREATE INDEX "batch_lines_unfinished" ON "batch_lines"("batch_id", "state", "line") WHERE "state" <> 'ended';
