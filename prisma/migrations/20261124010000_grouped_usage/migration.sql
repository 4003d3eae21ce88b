-- Usage by key, by model and by provider, one row per figure with its histogram: see libs/billing/ledger.sql and
-- docs/decisions/2026-11-22-usage-rollups.md.

CREATE TABLE "grouped_usage" (
    "account_id" TEXT NOT NULL,
    "step" TEXT NOT NULL,
    "dimension" TEXT NOT NULL,
    "time" TIMESTAMPTZ(3) NOT NULL,
    "name" TEXT NOT NULL,
    "of_model" TEXT NOT NULL,
    "of_provider" TEXT NOT NULL,
    "currency" TEXT NOT NULL,
    "images" BIGINT NOT NULL,
    "failed" BIGINT NOT NULL,
    "chats" BIGINT NOT NULL,
    "unpriced_images" BIGINT NOT NULL,
    "spend_micros" BIGINT NOT NULL,
    "input_tokens" BIGINT NOT NULL,
    "output_tokens" BIGINT NOT NULL,
    "durations" TEXT NOT NULL,

    CONSTRAINT "grouped_usage_pkey" PRIMARY KEY ("account_id", "step", "dimension", "time", "name", "of_model", "of_provider", "currency")
);
CREATE INDEX "grouped_usage_step_time_idx" ON "grouped_usage"("step", "time");
-- Usage without a known price: few rows, or none, among the days of all keys.
CREATE INDEX "grouped_usage_unpriced_idx" ON "grouped_usage"("account_id", "time") WHERE "step" = 'day' AND "dimension" = 'key' AND "currency" = 'XXX';

-- Adds changes of usage_rollups by key, by model and by provider, one row per figure: a query by one of them then reads as many
-- rows as it answers, however many of the others there are. A query with filters reads the rows of each key with each model and
-- provider. Durations are bucket:count:milliseconds of each bucket that has any, separated by spaces: queries return this text as
-- it is, and the API merges it (libs/billing/duration-histogram.ts).
CREATE OR REPLACE FUNCTION "grouped_usage"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format($add$
        INSERT INTO "grouped_usage" AS "known" ("account_id", "step", "dimension", "time", "name", "of_model", "of_provider", "currency",
            "images", "failed", "chats", "unpriced_images", "spend_micros", "input_tokens", "output_tokens", "durations")
        SELECT "account_id", "step", "dimension", "time", "name", "of_model", "of_provider", "currency",
            sum("images"), sum("failed"), sum("chats"), sum("unpriced_images"), sum("spend_micros"), sum("input_tokens"), sum("output_tokens"),
            COALESCE(string_agg("bucket" || ':' || "count" || ':' || "latency_ms", ' ' ORDER BY "bucket") FILTER (WHERE "bucket" >= 0), '')
        FROM (SELECT "account_id", "step", "dimension", "time", "name", "of_model", "of_provider", "currency",
                "usage_bucket"("kind", "outcome", "bucket") AS "bucket",
                sum("sign" * "count") AS "count", sum("sign" * "images") AS "images",
                sum(CASE WHEN "kind" = 'image' AND "outcome" = 'failed' THEN "sign" * "count" ELSE 0 END) AS "failed",
                sum(CASE WHEN "kind" = 'chat' THEN "sign" * "count" ELSE 0 END) AS "chats",
                sum(CASE WHEN "kind" = 'image' AND "currency" = 'XXX' THEN "sign" * GREATEST("images", "count") ELSE 0 END) AS "unpriced_images",
                sum("sign" * "spend_micros") AS "spend_micros", sum("sign" * "input_tokens") AS "input_tokens",
                sum("sign" * "output_tokens") AS "output_tokens", sum("sign" * "latency_ms") AS "latency_ms"
            FROM (%s) AS "changes", LATERAL (VALUES
                ('key', "api_key_id", '', ''), ('model', "model", '', ''), ('provider', "provider", '', ''),
                ('each', "api_key_id", "model", "provider")) AS "groups" ("dimension", "name", "of_model", "of_provider")
            GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9) AS "parts"
        GROUP BY 1, 2, 3, 4, 5, 6, 7, 8 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8
        ON CONFLICT ("account_id", "step", "dimension", "time", "name", "of_model", "of_provider", "currency") DO UPDATE SET
            "images" = "known"."images" + EXCLUDED."images", "failed" = "known"."failed" + EXCLUDED."failed",
            "chats" = "known"."chats" + EXCLUDED."chats", "unpriced_images" = "known"."unpriced_images" + EXCLUDED."unpriced_images",
            "spend_micros" = "known"."spend_micros" + EXCLUDED."spend_micros",
            "input_tokens" = "known"."input_tokens" + EXCLUDED."input_tokens",
            "output_tokens" = "known"."output_tokens" + EXCLUDED."output_tokens",
            "durations" = CASE '' WHEN EXCLUDED."durations" THEN "known"."durations" WHEN "known"."durations" THEN EXCLUDED."durations"
                ELSE (SELECT string_agg("bucket" || ':' || "count" || ':' || "ms", ' ' ORDER BY "bucket")
                    FROM (SELECT "part"[1]::smallint AS "bucket", sum("part"[2]::bigint) AS "count", sum("part"[3]::bigint) AS "ms"
                        FROM (SELECT string_to_array("text", ':') AS "part"
                            FROM string_to_table("known"."durations" || ' ' || EXCLUDED."durations", ' ') AS "text" OFFSET 0) AS "parts"
                        GROUP BY 1) AS "merged") END
        $add$, CASE TG_OP WHEN 'INSERT' THEN 'SELECT *, 1 AS "sign" FROM "added"'
            ELSE 'SELECT *, 1 AS "sign" FROM "added" UNION ALL SELECT *, -1 FROM "replaced"' END);
    RETURN NULL;
END;
$$;

CREATE OR REPLACE TRIGGER "grouped_usage_added" AFTER INSERT ON "usage_rollups" REFERENCING NEW TABLE AS "added"
    FOR EACH STATEMENT EXECUTE FUNCTION "grouped_usage"();
CREATE OR REPLACE TRIGGER "grouped_usage_changed" AFTER UPDATE ON "usage_rollups"
    REFERENCING OLD TABLE AS "replaced" NEW TABLE AS "added" FOR EACH STATEMENT EXECUTE FUNCTION "grouped_usage"();

-- Existing rollups. Workers that roll up meanwhile wait for the triggers' lock; nothing else writes there.
INSERT INTO "grouped_usage"
SELECT "account_id", "step", "dimension", "time", "name", "of_model", "of_provider", "currency", sum("images"), sum("failed"), sum("chats"),
    sum("unpriced_images"), sum("spend_micros"), sum("input_tokens"), sum("output_tokens"),
    COALESCE(string_agg("bucket" || ':' || "count" || ':' || "latency_ms", ' ' ORDER BY "bucket") FILTER (WHERE "bucket" >= 0), '')
FROM (SELECT "account_id", "step", "dimension", "time", "name", "of_model", "of_provider", "currency",
        "usage_bucket"("kind", "outcome", "bucket") AS "bucket",
        sum("count") AS "count", sum("images") AS "images",
        sum(CASE WHEN "kind" = 'image' AND "outcome" = 'failed' THEN "count" ELSE 0 END) AS "failed",
        sum(CASE WHEN "kind" = 'chat' THEN "count" ELSE 0 END) AS "chats",
        sum(CASE WHEN "kind" = 'image' AND "currency" = 'XXX' THEN GREATEST("images", "count") ELSE 0 END) AS "unpriced_images",
        sum("spend_micros") AS "spend_micros", sum("input_tokens") AS "input_tokens", sum("output_tokens") AS "output_tokens",
        sum("latency_ms") AS "latency_ms"
    FROM "usage_rollups", LATERAL (VALUES
        ('key', "api_key_id", '', ''), ('model', "model", '', ''), ('provider', "provider", '', ''),
        ('each', "api_key_id", "model", "provider")) AS "groups" ("dimension", "name", "of_model", "of_provider")
    GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9) AS "parts"
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8 ORDER BY 4;
