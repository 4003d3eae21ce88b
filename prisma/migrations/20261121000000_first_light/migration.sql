CREATE TABLE "accounts" (
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "disabled_at" TIMESTAMPTZ(3),

    CONSTRAINT "accounts_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "api_keys" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "prefix" TEXT NOT NULL,
    "hash" BYTEA NOT NULL,
    "models" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "weight" INTEGER NOT NULL DEFAULT 1,
    "default_response_format" TEXT,
    "allow_pixel_size" BOOLEAN NOT NULL DEFAULT false,
    "submit_mode" TEXT NOT NULL DEFAULT 'sync',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3),
    "revoked_at" TIMESTAMPTZ(3),

    CONSTRAINT "api_keys_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "tasks" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "api_key_id" TEXT NOT NULL,
    "request_id" TEXT NOT NULL,
    "action" TEXT NOT NULL,
    "model" TEXT NOT NULL,
    "prompt" TEXT NOT NULL,
    "options" JSONB NOT NULL,
    "inputs" JSONB NOT NULL DEFAULT '[]',
    "mask" JSONB,
    "callback_url" TEXT,
    "status" TEXT NOT NULL DEFAULT 'pending',
    "phase" TEXT NOT NULL DEFAULT 'queued',
    "progress" INTEGER NOT NULL DEFAULT 0,
    "attempt" INTEGER NOT NULL DEFAULT 0,
    "epoch" INTEGER NOT NULL DEFAULT 0,
    "losses" INTEGER NOT NULL DEFAULT 0,
    "provider_starts" INTEGER NOT NULL DEFAULT 0,
    "provider" TEXT,
    "provider_job_id" TEXT,
    "provider_call_open" BOOLEAN NOT NULL DEFAULT false,
    "lease_owner" TEXT,
    "lease_until" TIMESTAMPTZ(3),
    "next_try_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "started_at" TIMESTAMPTZ(3),
    "finished_at" TIMESTAMPTZ(3),
    "deadline_at" TIMESTAMPTZ(3) NOT NULL,
    "error" JSONB,
    "images" JSONB,
    "usage" JSONB,
    "warnings" JSONB,
    "objects_deleted_at" TIMESTAMPTZ(3),

    CONSTRAINT "tasks_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "tasks_status_check" CHECK ("status" IN ('pending', 'completed', 'failed', 'cancelled')),
    CONSTRAINT "tasks_phase_check" CHECK ("phase" IN ('queued', 'running', 'storing', 'done')),
    CONSTRAINT "tasks_progress_check" CHECK ("progress" BETWEEN 0 AND 100),
    CONSTRAINT "tasks_finished_check" CHECK (("status" = 'pending') = ("finished_at" IS NULL))
) WITH (fillfactor = 80);
-- Room on every page for the new version of a row: no index covers what changes while a task runs,
-- so those updates stay heap-only (measured: twice the updates per second, half the size).

CREATE UNIQUE INDEX "api_keys_hash_key" ON "api_keys"("hash");
CREATE INDEX "api_keys_account_id_idx" ON "api_keys"("account_id");
CREATE INDEX "tasks_account_id_created_at_id_idx" ON "tasks"("account_id", "created_at" DESC, "id" DESC);
-- What the sweeper walks: only what is not finished, so it stays small whatever the history.
CREATE INDEX "tasks_pending_idx" ON "tasks"("created_at") WHERE "status" = 'pending';

-- What retention walks: the oldest finished tasks first.
CREATE INDEX "tasks_finished_idx" ON "tasks"("finished_at") WHERE "status" <> 'pending';

ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
-- No foreign keys on tasks: accounts and keys are never deleted, and each insert would lock their rows.

-- Terminal states never change, whoever writes.
CREATE FUNCTION "tasks_refuse_revival"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'task % is already %', OLD.id, OLD.status USING ERRCODE = 'check_violation';
END;
$$;
CREATE TRIGGER "tasks_final" BEFORE UPDATE OF "status" ON "tasks"
    FOR EACH ROW WHEN (OLD."status" <> 'pending' AND NEW."status" <> OLD."status")
    EXECUTE FUNCTION "tasks_refuse_revival"();

INSERT INTO "accounts" ("id", "name") VALUES ('acct_default', 'Default');
