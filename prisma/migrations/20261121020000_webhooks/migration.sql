-- Whether the call was answered with the task: only then is its end told to the account's endpoints.
ALTER TABLE "tasks" ADD COLUMN "asynchronous" BOOLEAN NOT NULL DEFAULT false;

CREATE TABLE "webhook_endpoints" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "url" TEXT NOT NULL,
    "events" TEXT[] NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "disabled_at" TIMESTAMPTZ(3),
    "disabled_reason" TEXT,

    CONSTRAINT "webhook_endpoints_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "webhook_endpoints_reason_check" CHECK (("disabled_at" IS NULL) = ("disabled_reason" IS NULL))
);
CREATE INDEX "webhook_endpoints_account_id_idx" ON "webhook_endpoints"("account_id");
ALTER TABLE "webhook_endpoints" ADD CONSTRAINT "webhook_endpoints_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

CREATE TABLE "webhook_secrets" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "key_id" TEXT NOT NULL,
    "sealed" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3),

    CONSTRAINT "webhook_secrets_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "webhook_secrets_account_id_idx" ON "webhook_secrets"("account_id");
-- One secret of an account has no end: of two processes that make its first one, one finds the other's.
CREATE UNIQUE INDEX "webhook_secrets_current_key" ON "webhook_secrets"("account_id") WHERE "expires_at" IS NULL;
ALTER TABLE "webhook_secrets" ADD CONSTRAINT "webhook_secrets_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

CREATE TABLE "webhook_deliveries" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "task_id" TEXT NOT NULL,
    "endpoint_id" TEXT,
    "event" TEXT NOT NULL,
    "state" TEXT NOT NULL DEFAULT 'pending',
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "tries" INTEGER NOT NULL DEFAULT 0,
    "epoch" INTEGER NOT NULL DEFAULT 0,
    "next_try_at" TIMESTAMPTZ(3),
    "lease_until" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "ended_at" TIMESTAMPTZ(3),

    CONSTRAINT "webhook_deliveries_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "webhook_deliveries_state_check" CHECK ("state" IN ('pending', 'delivered', 'failed')),
    CONSTRAINT "webhook_deliveries_next_check" CHECK (("state" = 'pending') = ("next_try_at" IS NOT NULL))
);
CREATE INDEX "webhook_deliveries_task_id_idx" ON "webhook_deliveries"("task_id");
CREATE INDEX "webhook_deliveries_account_id_created_at_id_idx" ON "webhook_deliveries"("account_id", "created_at" DESC, "id" DESC);
-- What retention walks.
CREATE INDEX "webhook_deliveries_created_at_idx" ON "webhook_deliveries"("created_at");
-- What the sweep walks: only what is still to be delivered.
CREATE INDEX "webhook_deliveries_due_idx" ON "webhook_deliveries"("next_try_at") WHERE "state" = 'pending';

CREATE TABLE "webhook_attempts" (
    "delivery_id" TEXT NOT NULL,
    "number" INTEGER NOT NULL,
    "started_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "duration_ms" INTEGER,
    "status" INTEGER,
    "error" TEXT,

    CONSTRAINT "webhook_attempts_pkey" PRIMARY KEY ("delivery_id", "number")
);
ALTER TABLE "webhook_attempts" ADD CONSTRAINT "webhook_attempts_delivery_id_fkey" FOREIGN KEY ("delivery_id") REFERENCES "webhook_deliveries"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- The outbox: whoever ends a task, its deliveries are written in the same transaction, so no event can be lost between
-- the two. Tasks of callers who waited for their answer don't even call the function.
CREATE FUNCTION "tasks_tell_end"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO "webhook_deliveries" ("id", "account_id", "task_id", "endpoint_id", "event", "next_try_at")
    SELECT 'whd_' || replace(gen_random_uuid()::text, '-', ''), NEW."account_id", NEW."id", "target"."endpoint_id",
        'image.task.' || NEW."status", now()
    FROM (
        SELECT NULL AS "endpoint_id" WHERE NEW."callback_url" IS NOT NULL
        UNION ALL
        SELECT "id" FROM "webhook_endpoints"
        WHERE "account_id" = NEW."account_id" AND "disabled_at" IS NULL AND NEW."asynchronous"
            AND ('image.task.' || NEW."status") = ANY ("events")
    ) AS "target";
    RETURN NULL;
END;
$$;
CREATE TRIGGER "tasks_ended" AFTER UPDATE OF "status" ON "tasks"
    FOR EACH ROW WHEN (OLD."status" = 'pending' AND NEW."status" <> 'pending'
        AND (NEW."asynchronous" OR NEW."callback_url" IS NOT NULL))
    EXECUTE FUNCTION "tasks_tell_end"();
