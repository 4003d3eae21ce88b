-- Usage that no price was known for is told apart by its currency, XXX, so that figures can say what they leave out: see
-- libs/billing/ledger.sql. It counts as nothing in every sum, also for the version before.

CREATE OR REPLACE FUNCTION "chats_count"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    "spent" RECORD;
BEGIN
    INSERT INTO "usage_changes" ("reference", "kind", "account_id", "api_key_id", "model", "provider", "outcome", "currency",
        "created_at", "images", "spend_micros", "input_tokens", "output_tokens", "latency_ms")
    SELECT "request_id", 'chat', "account_id", "api_key_id", "model", "provider", "outcome",
        CASE WHEN "cost_micros" IS NULL THEN 'XXX' ELSE '' END, "created_at", 0,
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

CREATE OR REPLACE FUNCTION "tasks_usage"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO "usage_changes" ("reference", "kind", "account_id", "api_key_id", "model", "provider", "outcome", "currency",
        "created_at", "images", "spend_micros", "input_tokens", "output_tokens", "latency_ms")
    VALUES (NEW."id", 'image', NEW."account_id", NEW."api_key_id", NEW."model", COALESCE(NEW."provider", ''), NEW."status",
        CASE WHEN NEW."cost" IS NOT NULL AND NEW."status" IN ('completed', 'cancelled')
                AND COALESCE(NEW."cost" ->> 'settled', NEW."cost" ->> 'reserved') IS NULL THEN 'XXX'
            ELSE COALESCE(NEW."cost" ->> 'currency', '') END, NEW."created_at",
        CASE WHEN NEW."status" = 'completed' THEN GREATEST(jsonb_array_length(NEW."images"), 1) ELSE 0 END,
        CASE WHEN NEW."status" IN ('completed', 'cancelled')
            THEN COALESCE((NEW."cost" ->> 'settled')::bigint, (NEW."cost" ->> 'reserved')::bigint, 0) ELSE 0 END,
        COALESCE((NEW."usage" ->> 'input_tokens')::bigint, 0), COALESCE((NEW."usage" ->> 'output_tokens')::bigint, 0),
        CASE WHEN NEW."status" = 'completed'
            THEN round(EXTRACT(EPOCH FROM NEW."finished_at" - NEW."created_at") * 1000)::bigint END);
    RETURN NULL;
END;
$$;
