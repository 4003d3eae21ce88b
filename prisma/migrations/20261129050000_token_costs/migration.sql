-- What a task's tokens cost by class. Additive: processes from before it write and read charges as they did.
ALTER TABLE "charges" ADD COLUMN "token_costs" JSONB;

-- What tokens cost by class, at prices per million: {"input": {"tokens": 31, "amount": 155}, ...}; null unless they were counted.
-- A class without a price has that of another one (docs/billing.md). Tokens of an unknown kind count as the class that costs
-- most, and so do cached tokens. Amounts are rounded so that they add up to the exact sum, rounded up.
CREATE OR REPLACE FUNCTION "token_costs"("used" JSONB, "prices" JSONB) RETURNS JSONB LANGUAGE sql IMMUTABLE STRICT AS $$
    WITH "price" AS (
        SELECT "place", "class", "price"
        FROM jsonb_to_record("prices") AS "book" ("input" NUMERIC, "cached_input" NUMERIC, "image_input" NUMERIC,
                "cached_image_input" NUMERIC, "output" NUMERIC, "text_output" NUMERIC, "svg_input" NUMERIC, "svg_output" NUMERIC),
            LATERAL (VALUES
                (1, 'input', "input"),
                (2, 'cached_input', COALESCE("cached_input", "input")),
                (3, 'image_input', COALESCE("image_input", "input")),
                (4, 'cached_image_input', COALESCE("cached_image_input", "image_input", "input")),
                (5, 'output', "output"),
                (6, 'text_output', COALESCE("text_output", "output")),
                (7, 'svg_input', COALESCE("svg_input", "svg_output", "output")),
                (8, 'svg_output', COALESCE("svg_output", "output"))) AS "each" ("place", "class", "price")),
    -- Tokens that are of one of these classes, or when cached, of one of those; and how many are cached, where that was said.
    "part" AS (
        SELECT "number", GREATEST("tokens", 0) AS "tokens", "classes"::text[], "cached_classes"::text[], "in"."cached_tokens" AS "all_cached",
            CASE WHEN "cached_tokens_details" IS NOT NULL THEN COALESCE("each"."cached_tokens", 0) END AS "cached"
        FROM jsonb_to_record("used") AS "sum" ("input_tokens" NUMERIC, "output_tokens" NUMERIC, "total_tokens" NUMERIC,
                "input_tokens_details" JSONB, "output_tokens_details" JSONB, "svg_usage" JSONB),
            jsonb_to_record(COALESCE("input_tokens_details", '{}')) AS "in" ("text_tokens" NUMERIC, "image_tokens" NUMERIC,
                "cached_tokens" NUMERIC, "cached_tokens_details" JSONB),
            jsonb_to_record(COALESCE("cached_tokens_details", '{}')) AS "of_cache" ("text_tokens" NUMERIC, "image_tokens" NUMERIC),
            jsonb_to_record(COALESCE("output_tokens_details", '{}')) AS "out" ("text_tokens" NUMERIC, "image_tokens" NUMERIC),
            jsonb_to_record(COALESCE("svg_usage", '{}')) AS "svg" ("input_tokens" NUMERIC, "output_tokens" NUMERIC, "total_tokens" NUMERIC),
            LATERAL (VALUES
                (1, "in"."text_tokens", '{input}', '{cached_input}', "of_cache"."text_tokens"),
                (2, "in"."image_tokens", '{image_input}', '{cached_image_input}', "of_cache"."image_tokens"),
                (3, "sum"."input_tokens" - COALESCE("in"."text_tokens", 0) - COALESCE("in"."image_tokens", 0),
                    '{input,image_input}', '{cached_input,cached_image_input}', 0),
                (4, "out"."image_tokens", '{output}', NULL, 0),
                (5, "out"."text_tokens", '{text_output}', NULL, 0),
                (6, "sum"."output_tokens" - COALESCE("out"."image_tokens", 0) - COALESCE("out"."text_tokens", 0),
                    '{output,text_output}', NULL, 0),
                (7, "sum"."total_tokens" - "sum"."input_tokens" - "sum"."output_tokens",
                    '{output,text_output,image_input,input}', NULL, 0),
                (8, "svg"."input_tokens", '{svg_input}', NULL, 0),
                (9, "svg"."output_tokens", '{svg_output}', NULL, 0),
                (10, "svg"."total_tokens" - "svg"."input_tokens" - "svg"."output_tokens", '{svg_output,svg_input}', NULL, 0)
            ) AS "each" ("number", "tokens", "classes", "cached_classes", "cached_tokens")),
    -- Where the cached ones were not said, they are those that the cache makes least cheaper.
    "dearest" AS (
        SELECT "tokens", "full"."place", "full"."price", "less"."place" AS "cached_place", "less"."price" AS "cached_price",
            CASE WHEN "less"."place" IS NULL THEN 0 ELSE LEAST("tokens", COALESCE("cached", GREATEST(0, COALESCE("all_cached", 0)
                - COALESCE(sum("tokens") OVER (ORDER BY "full"."price" - "less"."price", "number"
                    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)))) END AS "cached"
        FROM "part",
            LATERAL (SELECT * FROM "price" WHERE "class" = ANY ("classes")
                ORDER BY "price" DESC, array_position("classes", "class") LIMIT 1) AS "full"
            LEFT JOIN LATERAL (SELECT * FROM "price" WHERE "class" = ANY ("cached_classes")
                ORDER BY "price" DESC, array_position("cached_classes", "class") LIMIT 1) AS "less" ON true
        WHERE "tokens" > 0),
    "cost" AS (
        SELECT "place", sum("tokens") AS "tokens", sum("tokens" * "price") AS "cost"
        FROM (SELECT "place", "price", "tokens" - "cached" AS "tokens" FROM "dearest"
            UNION ALL SELECT "cached_place", "cached_price", "cached" FROM "dearest") AS "row"
        WHERE "tokens" > 0 GROUP BY "place"),
    "amount" AS (
        SELECT "place", "tokens", "cost", sum("cost") OVER (ORDER BY "place") AS "until" FROM "cost")
    SELECT CASE WHEN "used" ->> 'input_tokens' IS NOT NULL THEN COALESCE(jsonb_object_agg("class", jsonb_build_object('tokens', "tokens",
        'amount', div("until" + 999999, 1000000) - div("until" - "cost" + 999999, 1000000))), '{}') END
    FROM "amount" JOIN "price" USING ("place")
$$;

-- Ending or deleting a task: the same statement settles its cost and refunds the rest.
-- In a task of several images ("cost" -> 'n'), each delivered image costs its part of the reserve. Images priced by tokens
-- never cost more than that, and exactly that when the tokens were not counted. Where the price has no maximum, nothing is
-- reserved, and they cost what the tokens do. A canceled task settles what a provider may have charged for it, or the share
-- that its price sets; a failed task costs nothing.
CREATE OR REPLACE FUNCTION "tasks_settle"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    "reserved" BIGINT := (OLD."cost" ->> 'reserved')::bigint;
    "n" INTEGER := COALESCE((OLD."cost" ->> 'n')::int, 1);
    "billed" BOOLEAN := TG_OP = 'UPDATE' AND NEW."status" = 'completed';
    "settled" BIGINT := 0;
    "share" NUMERIC;
    "token_costs" JSONB;
    "at" TIMESTAMPTZ;
BEGIN
    IF "billed" THEN
        "token_costs" := "token_costs"(NEW."usage", OLD."cost" -> 'tokens');
        -- LEAST passes over what is not known.
        "settled" := LEAST("reserved" / "n" * LEAST(jsonb_array_length(NEW."images"), "n"), CASE WHEN "token_costs" IS NOT NULL
            THEN (SELECT COALESCE(sum(("value" ->> 'amount')::numeric), 0) FROM jsonb_each("token_costs")) END)::bigint;
    ELSIF TG_OP = 'UPDATE' AND NEW."status" = 'cancelled' THEN
        SELECT max(COALESCE((OLD."cost" ->> 'cancelled')::numeric, CASE WHEN "call" -> 'free' = 'true' THEN 0 ELSE 1 END))
            INTO "share" FROM jsonb_array_elements(OLD."calls") AS "call"
            WHERE NOT "call" ? 'endedAt' OR "call" ->> 'charged' IS DISTINCT FROM 'no';
        IF "share" > 0 THEN
            "billed" := true;
            "settled" := ceil("reserved" * "share")::bigint;
        END IF;
    END IF;
    DELETE FROM "task_reserves" WHERE "task_id" = OLD."id" RETURNING "reserved_at" INTO "at";
    INSERT INTO "charges" ("task_id", "kind", "amount_micros", "currency", "account_id", "api_key_id", "model", "created_at",
        "token_costs")
    SELECT OLD."id", "kind", "amount", OLD."cost" ->> 'currency', OLD."account_id", OLD."api_key_id", OLD."model", clock_timestamp(),
        CASE "kind" WHEN 'settle' THEN "token_costs" END
    FROM (VALUES ('settle', "settled", "billed"),
        ('refund', "reserved" - "settled", NOT "billed" OR "reserved" > "settled")) AS "row" ("kind", "amount", "written")
    WHERE "written";
    IF "reserved" > "settled" THEN
        PERFORM "budgets_count"(OLD."account_id", OLD."api_key_id", "settled" - "reserved", "at");
    ELSIF "reserved" IS NULL AND "settled" > 0 THEN
        -- A budget that was set after it was accepted.
        SELECT "created_at" INTO "at" FROM "charges" WHERE "task_id" = OLD."id" AND "kind" = 'reserve';
        PERFORM "budgets_count"(OLD."account_id", OLD."api_key_id", "settled", "at");
    END IF;
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    NEW."cost" := OLD."cost" || jsonb_build_object('settled', "settled")
        || CASE WHEN "token_costs" IS NULL THEN '{}' ELSE jsonb_build_object('tokenCosts', "token_costs") END;
    RETURN NEW;
END;
$$;
