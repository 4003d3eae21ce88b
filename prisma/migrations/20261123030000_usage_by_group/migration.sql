-- Usage by key, by model, and by provider, so that an answer reads as many rows as it has figures: see libs/billing/ledger.sql
-- and docs/decisions/2026-11-22-usage-rollups.md.

CREATE TABLE "usage_by_group" (
    "account_id" TEXT NOT NULL,
    "step" TEXT NOT NULL,
    "dimension" TEXT NOT NULL,
    "time" TIMESTAMPTZ(3) NOT NULL,
    "name" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "outcome" TEXT NOT NULL,
    "currency" TEXT NOT NULL,
    "bucket" SMALLINT NOT NULL,
    "count" BIGINT NOT NULL,
    "images" BIGINT NOT NULL,
    "spend_micros" BIGINT NOT NULL,
    "input_tokens" BIGINT NOT NULL,
    "output_tokens" BIGINT NOT NULL,
    "latency_ms" BIGINT NOT NULL,

    CONSTRAINT "usage_by_group_pkey" PRIMARY KEY ("account_id", "step", "dimension", "time", "name", "kind", "outcome", "currency", "bucket")
);
CREATE INDEX "usage_by_group_step_time_idx" ON "usage_by_group"("step", "time");

-- The part that a percentile is made of: durations of completed tasks are told apart, nothing else.
CREATE OR REPLACE FUNCTION "usage_bucket"("kind" TEXT, "outcome" TEXT, "bucket" SMALLINT) RETURNS SMALLINT LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN "kind" = 'image' AND "outcome" = 'completed' THEN "bucket" ELSE -1 END::smallint
$$;

-- What is added to usage_rollups, once by key, once by model, and once by provider: an answer by one of them then reads as
-- many rows as it has figures, however many of the others there are.
CREATE OR REPLACE FUNCTION "usage_by_group"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format($add$
        INSERT INTO "usage_by_group" AS "known" ("account_id", "step", "dimension", "time", "name", "kind", "outcome", "currency", "bucket",
            "count", "images", "spend_micros", "input_tokens", "output_tokens", "latency_ms")
        SELECT "account_id", "step", "dimension", "time", "name", "kind", "outcome", "currency", "usage_bucket"("kind", "outcome", "bucket"),
            sum("sign" * "count"), sum("sign" * "images"), sum("sign" * "spend_micros"), sum("sign" * "input_tokens"),
            sum("sign" * "output_tokens"), sum("sign" * "latency_ms")
        FROM (%s) AS "changes", LATERAL (VALUES ('key', "api_key_id"), ('model', "model"), ('provider', "provider")) AS "groups" ("dimension", "name")
        GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9
        ON CONFLICT ("account_id", "step", "dimension", "time", "name", "kind", "outcome", "currency", "bucket") DO UPDATE SET
            "count" = "known"."count" + EXCLUDED."count", "images" = "known"."images" + EXCLUDED."images",
            "spend_micros" = "known"."spend_micros" + EXCLUDED."spend_micros",
            "input_tokens" = "known"."input_tokens" + EXCLUDED."input_tokens",
            "output_tokens" = "known"."output_tokens" + EXCLUDED."output_tokens",
            "latency_ms" = "known"."latency_ms" + EXCLUDED."latency_ms"
        $add$, CASE TG_OP WHEN 'INSERT' THEN 'SELECT *, 1 AS "sign" FROM "added"'
            ELSE 'SELECT *, 1 AS "sign" FROM "added" UNION ALL SELECT *, -1 FROM "replaced"' END);
    RETURN NULL;
END;
$$;

CREATE OR REPLACE TRIGGER "usage_by_group_added" AFTER INSERT ON "usage_rollups" REFERENCING NEW TABLE AS "added"
    FOR EACH STATEMENT EXECUTE FUNCTION "usage_by_group"();
CREATE OR REPLACE TRIGGER "usage_by_group_changed" AFTER UPDATE ON "usage_rollups"
    REFERENCING OLD TABLE AS "replaced" NEW TABLE AS "added" FOR EACH STATEMENT EXECUTE FUNCTION "usage_by_group"();

-- What was added up before. Workers that add up meanwhile wait for the triggers' lock; nobody else writes there.
INSERT INTO "usage_by_group"
SELECT "account_id", "step", "dimension", "time", "name", "kind", "outcome", "currency", "usage_bucket"("kind", "outcome", "bucket"),
    sum("count"), sum("images"), sum("spend_micros"), sum("input_tokens"), sum("output_tokens"), sum("latency_ms")
FROM "usage_rollups", LATERAL (VALUES ('key', "api_key_id"), ('model', "model"), ('provider', "provider")) AS "groups" ("dimension", "name")
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9;
