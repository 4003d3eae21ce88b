-- A task may be of several images: "cost" -> 'n' says of how many, and what was reserved is for all of them. A completed task
-- settles the part of those that were delivered.
CREATE OR REPLACE FUNCTION "tasks_settle"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    "reserved" BIGINT := (OLD."cost" ->> 'reserved')::bigint;
    "n" INTEGER := COALESCE((OLD."cost" ->> 'n')::int, 1);
    "billed" BOOLEAN := TG_OP = 'UPDATE' AND NEW."status" = 'completed';
    "settled" BIGINT := 0;
    "share" NUMERIC;
    "tokens" JSONB := OLD."cost" -> 'tokens';
    "at" TIMESTAMPTZ;
BEGIN
    IF "billed" THEN
        -- LEAST passes over what is not known.
        "settled" := CASE WHEN "reserved" IS NOT NULL THEN LEAST("reserved" / "n" * LEAST(jsonb_array_length(NEW."images"), "n"), ceil((
            (NEW."usage" ->> 'input_tokens')::numeric * ("tokens" ->> 'input')::numeric +
            (NEW."usage" ->> 'output_tokens')::numeric * ("tokens" ->> 'output')::numeric) / 1000000))::bigint END;
    ELSIF TG_OP = 'UPDATE' AND NEW."status" = 'cancelled' THEN
        SELECT max(COALESCE((OLD."cost" ->> 'cancelled')::numeric, CASE WHEN "call" -> 'free' = 'true' THEN 0 ELSE 1 END))
            INTO "share" FROM jsonb_array_elements(OLD."calls") AS "call"
            WHERE NOT "call" ? 'endedAt' OR "call" ->> 'charged' IS DISTINCT FROM 'no';
        IF "share" > 0 THEN
            "billed" := true;
            "settled" := ceil("reserved" * "share")::bigint;
        END IF;
    END IF;
    SELECT "created_at" INTO "at" FROM "charges" WHERE "task_id" = OLD."id" AND "kind" = 'reserve';
    INSERT INTO "charges" ("task_id", "kind", "amount_micros", "currency", "account_id", "api_key_id", "model", "created_at")
    SELECT OLD."id", "kind", "amount", OLD."cost" ->> 'currency', OLD."account_id", OLD."api_key_id", OLD."model", clock_timestamp()
    FROM (VALUES ('settle', "settled", "billed"),
        ('refund', "reserved" - "settled", NOT "billed" OR "reserved" > "settled")) AS "row" ("kind", "amount", "written")
    WHERE "written";
    IF "reserved" > "settled" THEN
        PERFORM "budgets_count"(OLD."account_id", OLD."api_key_id", "settled" - "reserved", "at");
    END IF;
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    NEW."cost" := OLD."cost" || jsonb_build_object('settled', "settled");
    RETURN NEW;
END;
$$;
