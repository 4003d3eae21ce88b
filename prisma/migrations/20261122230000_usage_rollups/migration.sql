-- Usage by hour and day, added up from what ends: see libs/billing/ledger.sql and docs/decisions/2026-11-22-usage-rollups.md.

-- Ended tasks and chats that have not been added up yet.
CREATE TABLE "usage_changes" (
    "id" BIGSERIAL NOT NULL,
    "reference" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "api_key_id" TEXT NOT NULL,
    "model" TEXT NOT NULL,
    "provider" TEXT NOT NULL,
    "outcome" TEXT NOT NULL,
    "currency" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "images" INTEGER NOT NULL,
    "spend_micros" BIGINT NOT NULL,
    "input_tokens" BIGINT NOT NULL,
    "output_tokens" BIGINT NOT NULL,
    "latency_ms" BIGINT,

    CONSTRAINT "usage_changes_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "usage_rollups" (
    "account_id" TEXT NOT NULL,
    "step" TEXT NOT NULL,
    "time" TIMESTAMPTZ(3) NOT NULL,
    "kind" TEXT NOT NULL,
    "api_key_id" TEXT NOT NULL,
    "model" TEXT NOT NULL,
    "provider" TEXT NOT NULL,
    "outcome" TEXT NOT NULL,
    "currency" TEXT NOT NULL,
    "bucket" SMALLINT NOT NULL,
    "count" BIGINT NOT NULL,
    "images" BIGINT NOT NULL,
    "spend_micros" BIGINT NOT NULL,
    "input_tokens" BIGINT NOT NULL,
    "output_tokens" BIGINT NOT NULL,
    "latency_ms" BIGINT NOT NULL,

    CONSTRAINT "usage_rollups_pkey" PRIMARY KEY ("account_id", "step", "time", "kind", "api_key_id", "model", "provider", "outcome", "currency", "bucket")
);
CREATE INDEX "usage_rollups_step_time_idx" ON "usage_rollups"("step", "time");

-- What balances are made of; never removed.
CREATE TABLE "spend_totals" (
    "account_id" TEXT NOT NULL,
    "api_key_id" TEXT NOT NULL,
    "month" TIMESTAMPTZ(3) NOT NULL,
    "currency" TEXT NOT NULL,
    "amount_micros" BIGINT NOT NULL,

    CONSTRAINT "spend_totals_pkey" PRIMARY KEY ("account_id", "api_key_id", "month", "currency")
);
CREATE INDEX "spend_totals_api_key_id_idx" ON "spend_totals"("api_key_id");

-- How far workers have come with what ended before this migration; a source that is done has no row.
CREATE TABLE "usage_backfill" (
    "source" TEXT NOT NULL,
    "cursor" TEXT NOT NULL,
    "before" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "usage_backfill_pkey" PRIMARY KEY ("source")
);

-- Null: written before this migration, so triggers have not counted it.
ALTER TABLE "chat_usage" ADD COLUMN "added_up" BOOLEAN;
ALTER TABLE "chat_usage" ALTER COLUMN "added_up" SET DEFAULT true;
ALTER TABLE "charges" ADD COLUMN "added_up" BOOLEAN;
ALTER TABLE "charges" ALTER COLUMN "added_up" SET DEFAULT true;

-- The part of the histogram that a duration is in: each ends a quarter of an octave above the one before; -1 without one.
CREATE OR REPLACE FUNCTION "latency_bucket"("ms" BIGINT) RETURNS SMALLINT LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN "ms" IS NULL THEN -1 ELSE ceil(4 * ln(GREATEST("ms", 1)::float8) / ln(2::float8)) END::smallint
$$;

-- An ended task as usage counts it. A task in `charges` belongs to the month of its reserve, in usage to the hour of its acceptance.
CREATE OR REPLACE FUNCTION "tasks_usage"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO "usage_changes" ("reference", "kind", "account_id", "api_key_id", "model", "provider", "outcome", "currency",
        "created_at", "images", "spend_micros", "input_tokens", "output_tokens", "latency_ms")
    VALUES (NEW."id", 'image', NEW."account_id", NEW."api_key_id", NEW."model", COALESCE(NEW."provider", ''), NEW."status",
        COALESCE(NEW."cost" ->> 'currency', ''), NEW."created_at",
        CASE WHEN NEW."status" = 'completed' THEN GREATEST(jsonb_array_length(NEW."images"), 1) ELSE 0 END,
        CASE WHEN NEW."status" IN ('completed', 'cancelled')
            THEN COALESCE((NEW."cost" ->> 'settled')::bigint, (NEW."cost" ->> 'reserved')::bigint, 0) ELSE 0 END,
        COALESCE((NEW."usage" ->> 'input_tokens')::bigint, 0), COALESCE((NEW."usage" ->> 'output_tokens')::bigint, 0),
        CASE WHEN NEW."status" = 'completed'
            THEN round(EXTRACT(EPOCH FROM NEW."finished_at" - NEW."created_at") * 1000)::bigint END);
    RETURN NULL;
END;
$$;

CREATE OR REPLACE TRIGGER "tasks_usage" AFTER UPDATE OF "status" ON "tasks"
    FOR EACH ROW WHEN (OLD."status" = 'pending' AND NEW."status" <> 'pending') EXECUTE FUNCTION "tasks_usage"();
CREATE OR REPLACE TRIGGER "tasks_usage_at_once" AFTER INSERT ON "tasks"
    FOR EACH ROW WHEN (NEW."status" <> 'pending') EXECUTE FUNCTION "tasks_usage"();

-- What these accounts and these keys have spent, by key and by the month that it counts in: added up, not added up yet,
-- and reserved for tasks that have not ended. A chat has no currency of its own.
CREATE OR REPLACE FUNCTION "spend_of"("accounts" TEXT[], "keys" TEXT[])
RETURNS TABLE ("account_id" TEXT, "api_key_id" TEXT, "month" TIMESTAMPTZ, "currency" TEXT, "amount" BIGINT) LANGUAGE sql STABLE AS $$
    SELECT "account_id", "api_key_id", "month", "currency", "amount_micros" FROM "spend_totals"
    WHERE "account_id" = ANY ("accounts") OR "api_key_id" = ANY ("keys")
    UNION ALL
    -- Each reserve is looked up by itself: joined, the planner would rather read all charges.
    SELECT "account_id", "api_key_id", "month_of"(COALESCE((SELECT "reserve"."created_at" FROM "charges" AS "reserve"
            WHERE "reserve"."task_id" = "reference" AND "reserve"."kind" = 'reserve'), "created_at")), "currency", "spend_micros"
    FROM "usage_changes"
    WHERE ("account_id" = ANY ("accounts") OR "api_key_id" = ANY ("keys")) AND "spend_micros" <> 0
    UNION ALL
    -- The few that have not ended first (OFFSET keeps the planner from going through all of an account's tasks).
    SELECT "account_id", "api_key_id", "month_of"(COALESCE((SELECT "reserve"."created_at" FROM "charges" AS "reserve"
            WHERE "reserve"."task_id" = "open"."id" AND "reserve"."kind" = 'reserve'), "created_at")),
        "cost" ->> 'currency', COALESCE(("cost" ->> 'reserved')::bigint, 0)
    FROM (SELECT * FROM "tasks" WHERE "finished_at" IS NULL OFFSET 0) AS "open"
    WHERE "cost" IS NOT NULL AND ("account_id" = ANY ("accounts") OR "api_key_id" = ANY ("keys"))
$$;

CREATE OR REPLACE FUNCTION "chats_count"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    "spent" RECORD;
BEGIN
    INSERT INTO "usage_changes" ("reference", "kind", "account_id", "api_key_id", "model", "provider", "outcome", "currency",
        "created_at", "images", "spend_micros", "input_tokens", "output_tokens", "latency_ms")
    SELECT "request_id", 'chat', "account_id", "api_key_id", "model", "provider", "outcome", '', "created_at", 0,
        COALESCE("cost_micros", 0), COALESCE("input_tokens", 0), COALESCE("output_tokens", 0),
        CASE WHEN "outcome" = 'completed' THEN "duration_ms" END
    FROM "added";
    IF EXISTS (SELECT 1 FROM "added" WHERE "cost_micros" > 0)
        OR EXISTS (SELECT 1 FROM "added" JOIN "chat_reserves" USING ("request_id")) THEN
        PERFORM pg_advisory_xact_lock(hashtext('budgets of many'));
        FOR "spent" IN SELECT "account_id", "api_key_id", "month_of"("created_at") AS "at", sum("cost_micros")::bigint AS "amount"
            FROM "added" WHERE "cost_micros" > 0 GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
        LOOP
            PERFORM "budgets_count"("spent"."account_id", "spent"."api_key_id", "spent"."amount", "spent"."at");
        END LOOP;
        DELETE FROM "chat_reserves" USING "added" WHERE "chat_reserves"."request_id" = "added"."request_id";
    END IF;
    RETURN NULL;
END;
$$;

-- What workers have to add up of the time before.
INSERT INTO "usage_backfill" ("source", "cursor", "before")
SELECT "source", '', clock_timestamp() FROM (VALUES
    ('charges', EXISTS (SELECT 1 FROM "charges")),
    ('tasks', EXISTS (SELECT 1 FROM "tasks" WHERE "cost" IS NULL)),
    ('chats', EXISTS (SELECT 1 FROM "chat_usage"))) AS "old" ("source", "exists")
WHERE "exists";
