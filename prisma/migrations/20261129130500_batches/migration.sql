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
    "put_off" INTEGER NOT NULL DEFAULT 0,
    "outcome" JSONB,

    CONSTRAINT "batch_lines_pkey" PRIMARY KEY ("batch_id", "line")
);
-- A batch of 50,000 lines is not walked through at each step.
CREATE INDEX "batch_lines_unfinished" ON "batch_lines"("batch_id", "state", "put_off", "line") WHERE "state" <> 'ended';

-- Usage of an ended task. In `charges`, a task counts in the month of its reserve; in usage, in the hour of its acceptance.
CREATE OR REPLACE FUNCTION "tasks_usage"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO "usage_changes" ("reference", "kind", "account_id", "api_key_id", "model", "provider", "outcome", "currency",
        "created_at", "images", "spend_micros", "input_tokens", "output_tokens", "latency_ms", "end_user", "tags")
    VALUES (NEW."id", 'image', NEW."account_id", NEW."api_key_id", NEW."model", COALESCE(NEW."provider", ''), NEW."status",
        CASE WHEN NEW."cost" IS NOT NULL AND NEW."status" IN ('completed', 'cancelled')
                AND COALESCE(NEW."cost" ->> 'settled', NEW."cost" ->> 'reserved') IS NULL THEN 'XXX'
            ELSE COALESCE(NEW."cost" ->> 'currency', '') END, NEW."created_at",
        CASE WHEN NEW."status" = 'completed' THEN GREATEST(jsonb_array_length(NEW."images"), 1) ELSE 0 END,
        CASE WHEN NEW."status" IN ('completed', 'cancelled')
            THEN COALESCE((NEW."cost" ->> 'settled')::bigint, (NEW."cost" ->> 'reserved')::bigint, 0) ELSE 0 END,
        COALESCE((NEW."usage" ->> 'input_tokens')::bigint, 0), COALESCE((NEW."usage" ->> 'output_tokens')::bigint, 0),
        -- A task has its time from its approval, if it needed one; a batch's line waits for others by intention.
        CASE WHEN NEW."status" = 'completed' AND NEW."batch_id" IS NULL THEN round(EXTRACT(EPOCH FROM NEW."finished_at"
            - COALESCE((NEW."approval" ->> 'decidedAt')::timestamptz, NEW."created_at")) * 1000)::bigint END,
        NEW."end_user", NEW."tags");
    RETURN NULL;
END;
$$;
