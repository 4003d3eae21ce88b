-- The functions and triggers that keep the ledger (charges) and the budgets, as they are after all migrations.
-- To change one, write a migration and update this file; test/medium/ledger.spec.ts checks that a migrated database
-- has exactly these definitions.
--
-- Amounts are whole millionths of a currency. Everything is counted in the transaction of the statement that causes it,
-- so no process has to remember anything:
--
--   a task is inserted      tasks_reserve    refuses it, or writes its reserve and counts that into the budgets
--   a task ends             tasks_settle     settles its cost, refunds the rest; its row of task_reserves is gone
--   a task is deleted       tasks_take_back  refunds all of it, if the task was still pending
--   a chat starts           chat_reserve()   (called) refuses it, or reserves what it may cost
--   a chat is not sent      chat_reserves_release  releases its reserve
--   a chat is recorded      chats_count      counts its cost, releases its reserve
--   a task or chat has ended  tasks_usage, chats_count  add a row to usage_changes
--   a task has an end user or tags  tasks_label  writes what finds it by them
--   changes are rolled up  labeled_usage    adds them up by end user and tag
--
-- To prevent deadlocks, budgets are always locked in one order, the account before the key before labels, and a transaction that
-- locks those of many owners first takes the advisory lock 'budgets of many'; a statement that inserts several tasks locks none.
-- Where labels have budgets, whoever counts for the account first takes its own lock: labels of two tasks have no order.

-- ---------------------------------------------------------------- budgets

-- The start of the calendar month, in UTC.
CREATE OR REPLACE FUNCTION "month_of"("at" TIMESTAMPTZ) RETURNS TIMESTAMPTZ LANGUAGE sql IMMUTABLE AS $$
    SELECT date_trunc('month', "at" AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
$$;

-- What is spent of a budget at a time: nothing yet when its month is over.
CREATE OR REPLACE FUNCTION "budget_spent"("budget" "budgets", "at" TIMESTAMPTZ) RETURNS BIGINT LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN "budget"."period" = 'month' AND "budget"."period_start" < "month_of"("at") THEN 0
        ELSE "budget"."spent_micros" END
$$;

-- The owner of the budget that an account (itself) or a key uses: a key and its replacements share that of the first.
CREATE OR REPLACE FUNCTION "budget_of"("id" TEXT) RETURNS TEXT LANGUAGE sql STABLE AS $$
    SELECT COALESCE((SELECT "original_key_id" FROM "api_keys" WHERE "api_keys"."id" = "budget_of"."id"), "budget_of"."id")
$$;

-- The labels of a task or chat: its end user and its tags.
CREATE OR REPLACE FUNCTION "labels_of"("end_user" TEXT, "tags" TEXT[]) RETURNS TABLE ("kind" TEXT, "name" TEXT) LANGUAGE sql IMMUTABLE AS $$
    SELECT 'end_user', "end_user" WHERE "end_user" IS NOT NULL
    UNION ALL SELECT DISTINCT 'tag', "tag" FROM unnest("tags") AS "tag"
$$;

-- The owner of a label's budget. No id of an account or a key has a space.
CREATE OR REPLACE FUNCTION "label_owner"("account" TEXT, "kind" TEXT, "name" TEXT) RETURNS TEXT LANGUAGE sql IMMUTABLE AS $$
    SELECT "account" || ' ' || "kind" || ' ' || "name"
$$;

-- All whose budgets a task or chat counts in, in the order in which they are locked: its account, its key, its end user, its tags.
CREATE OR REPLACE FUNCTION "budget_owners"("account" TEXT, "key" TEXT, "end_user" TEXT, "tags" TEXT[]) RETURNS TEXT[]
LANGUAGE plpgsql AS $$
BEGIN
    -- Whoever sets budgets of labels holds the table meanwhile, so this sees either none or all of them.
    LOCK TABLE "budgets" IN ROW EXCLUSIVE MODE;
    IF NOT EXISTS (SELECT 1 FROM "label_limits" WHERE "account_id" = "account" AND "monthly_budget_micros" IS NOT NULL) THEN
        RETURN ARRAY["account", "budget_of"("key")];
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('budgets of labels of ' || "account", 0));
    RETURN ARRAY["account", "budget_of"("key")] || ARRAY(SELECT "label_owner"("account", "label"."kind", "label"."name")
        FROM "labels_of"("end_user", "tags") AS "label" ORDER BY "label"."kind" COLLATE "C", "label"."name" COLLATE "C");
END;
$$;

-- What a label has spent since a time, the start of a day: rolled up, not rolled up yet, and reserved for tasks and chats that have
-- not ended.
CREATE OR REPLACE FUNCTION "label_spent"("account" TEXT, "of_kind" TEXT, "of_name" TEXT, "since" TIMESTAMPTZ) RETURNS BIGINT LANGUAGE sql STABLE AS $$
    SELECT COALESCE(sum("amount"), 0)::bigint FROM (
        SELECT "spend_micros" AS "amount" FROM "labeled_usage"
        WHERE "account_id" = "account" AND "kind" = "of_kind" AND "name" = "of_name" AND "time" >= "since"
        UNION ALL
        SELECT "spend_micros" FROM "usage_changes" WHERE "account_id" = "account" AND "created_at" >= "since"
            AND CASE "of_kind" WHEN 'tag' THEN "of_name" = ANY ("tags") ELSE "of_name" = "end_user" END
        UNION ALL
        SELECT "amount_micros" FROM "task_reserves" WHERE "account_id" = "account" AND "reserved_at" >= "since"
            AND CASE "of_kind" WHEN 'tag' THEN "of_name" = ANY ("tags") ELSE "of_name" = "end_user" END
        UNION ALL
        SELECT "amount_micros" FROM "chat_reserves" WHERE "account_id" = "account" AND "created_at" >= "since"
            AND CASE "of_kind" WHEN 'tag' THEN "of_name" = ANY ("tags") ELSE "of_name" = "end_user" END) AS "parts"
$$;

-- Labels get their budgets when they are first needed; "budget_owners" has locked them. A label without limits of its own has those
-- of each label of its kind, which have no name.
CREATE OR REPLACE FUNCTION "label_budgets_begin"("account" TEXT, "end_user" TEXT, "tags" TEXT[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    "month" TIMESTAMPTZ := "month_of"(clock_timestamp());
BEGIN
    INSERT INTO "budgets" ("owner_id", "owner", "limit_micros", "period", "spent_micros", "period_start")
    SELECT "label_owner"("account", "label"."kind", "label"."name"), "label"."kind", "limit"."monthly_budget_micros", 'month',
        "label_spent"("account", "label"."kind", "label"."name", "month"), "month"
    FROM "labels_of"("end_user", "tags") AS "label", LATERAL (SELECT "monthly_budget_micros" FROM "label_limits" AS "limit"
        WHERE "limit"."account_id" = "account" AND "limit"."kind" = "label"."kind" AND "limit"."name" IN ("label"."name", '')
        ORDER BY "limit"."name" = '' LIMIT 1) AS "limit"
    WHERE "limit"."monthly_budget_micros" IS NOT NULL AND NOT EXISTS (SELECT 1 FROM "budgets"
        WHERE "owner_id" = "label_owner"("account", "label"."kind", "label"."name"))
    ON CONFLICT ("owner_id") DO NOTHING;
END;
$$;

-- Adds an amount spent at a time to the budgets, or subtracts it when negative; months that are over stay as they are.
CREATE OR REPLACE FUNCTION "budgets_count"("owners" TEXT[], "amount" BIGINT, "at" TIMESTAMPTZ) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    "who" TEXT;
BEGIN
    FOREACH "who" IN ARRAY "owners" LOOP
        UPDATE "budgets" SET "spent_micros" = GREATEST("budget_spent"("budgets", "at") + "amount", 0),
            "period_start" = GREATEST("period_start", "month_of"("at"))
        WHERE "owner_id" = "who" AND ("period" = 'total' OR "period_start" <= "month_of"("at"));
    END LOOP;
END;
$$;

-- For triggers that had begun before an upgrade.
CREATE OR REPLACE FUNCTION "budgets_count"("account" TEXT, "key" TEXT, "amount" BIGINT, "at" TIMESTAMPTZ) RETURNS void
LANGUAGE sql AS $$
    SELECT "budgets_count"("budget_owners"("account", "key", NULL, NULL), "amount", "at")
$$;

-- ---------------------------------------------------------------- tasks

-- Accepting a task: the same statement writes its reserve, or fails and leaves no task.
-- DR402: a budget is not enough; DR403: there is a budget, but no known price (budget-refusal.ts). DR409: there is a budget, and the
-- statement has tasks of others, whose budgets it would lock in any order; it is to be sent for this task alone (InsertTasks).
CREATE OR REPLACE FUNCTION "tasks_reserve"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    "amount" BIGINT := (NEW."cost" ->> 'reserved')::bigint;
    "owners" TEXT[];
    "who" TEXT;
    "budget" "budgets";
    "left" BIGINT;
    "at" TIMESTAMPTZ;
BEGIN
    IF current_setting('darkroom.shared', true) = 'true' THEN
        -- From here to the end of the statement, no budget begins.
        LOCK TABLE "budgets" IN ROW EXCLUSIVE MODE;
        IF EXISTS (SELECT 1 FROM "budgets" WHERE "owner_id" IN (NEW."account_id", "budget_of"(NEW."api_key_id")))
            OR EXISTS (SELECT 1 FROM "label_limits" WHERE "account_id" = NEW."account_id" AND "monthly_budget_micros" IS NOT NULL) THEN
            RAISE EXCEPTION 'a task with a budget shares no statement' USING ERRCODE = 'DR409';
        END IF;
    END IF;
    "owners" := "budget_owners"(NEW."account_id", NEW."api_key_id", NEW."end_user", NEW."tags");
    IF cardinality("owners") > 2 THEN
        PERFORM "label_budgets_begin"(NEW."account_id", NEW."end_user", NEW."tags");
    END IF;
    FOREACH "who" IN ARRAY "owners" LOOP
        SELECT * INTO "budget" FROM "budgets" WHERE "owner_id" = "who" FOR UPDATE;
        CONTINUE WHEN NOT FOUND;
        IF "amount" IS NULL THEN
            RAISE EXCEPTION 'the price is not known' USING ERRCODE = 'DR403', DETAIL = "budget"."owner";
        END IF;
        "left" := GREATEST("budget"."limit_micros" - "budget_spent"("budget", clock_timestamp()), 0);
        IF "amount" > "left" THEN
            RAISE EXCEPTION 'the budget does not suffice' USING ERRCODE = 'DR402', DETAIL = json_build_object(
                'owner', "budget"."owner", 'period', "budget"."period", 'left', "left")::text;
        END IF;
    END LOOP;
    -- Taken when the budgets are ours: a month begins for all who count in the order in which they do.
    "at" := clock_timestamp();
    INSERT INTO "charges" ("task_id", "kind", "amount_micros", "currency", "account_id", "api_key_id", "model", "created_at")
    VALUES (NEW."id", 'reserve', "amount", NEW."cost" ->> 'currency', NEW."account_id", NEW."api_key_id", NEW."model", "at");
    IF "amount" > 0 THEN
        PERFORM "budgets_count"("owners", "amount", "at");
        IF NEW."status" = 'pending' THEN
            INSERT INTO "task_reserves" ("task_id", "account_id", "api_key_id", "model", "currency", "amount_micros", "reserved_at", "hour",
                "end_user", "tags")
            VALUES (NEW."id", NEW."account_id", NEW."api_key_id", NEW."model", NEW."cost" ->> 'currency', "amount", "at",
                date_trunc('hour', NEW."created_at", 'UTC'), NEW."end_user", NEW."tags");
        END IF;
    END IF;
    RETURN NEW;
END;
$$;

CREATE OR REPLACE TRIGGER "tasks_reserve" BEFORE INSERT ON "tasks"
    FOR EACH ROW WHEN (NEW."cost" IS NOT NULL) EXECUTE FUNCTION "tasks_reserve"();

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
        PERFORM "budgets_count"("budget_owners"(OLD."account_id", OLD."api_key_id", OLD."end_user", OLD."tags"),
            "settled" - "reserved", "at");
    ELSIF "reserved" IS NULL AND "settled" > 0 THEN
        -- A budget that was set after it was accepted.
        SELECT "created_at" INTO "at" FROM "charges" WHERE "task_id" = OLD."id" AND "kind" = 'reserve';
        PERFORM "budgets_count"("budget_owners"(OLD."account_id", OLD."api_key_id", OLD."end_user", OLD."tags"), "settled", "at");
    END IF;
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    NEW."cost" := OLD."cost" || jsonb_build_object('settled', "settled")
        || CASE WHEN "token_costs" IS NULL THEN '{}' ELSE jsonb_build_object('tokenCosts', "token_costs") END;
    RETURN NEW;
END;
$$;

CREATE OR REPLACE TRIGGER "tasks_settle" BEFORE UPDATE OF "status" ON "tasks"
    FOR EACH ROW WHEN (OLD."cost" IS NOT NULL AND OLD."status" = 'pending' AND NEW."status" <> 'pending')
    EXECUTE FUNCTION "tasks_settle"();
CREATE OR REPLACE TRIGGER "tasks_take_back" BEFORE DELETE ON "tasks"
    FOR EACH ROW WHEN (OLD."cost" IS NOT NULL AND OLD."status" = 'pending') EXECUTE FUNCTION "tasks_settle"();

-- ---------------------------------------------------------------- chats

-- Refuses a chat whose budget is used up, or whose price is unknown, like tasks_reserve; otherwise reserves the amount.
-- The last accepted chat may cost more than is left. Without a budget, nothing is written.
CREATE OR REPLACE FUNCTION "chat_reserve"("request" TEXT, "account" TEXT, "key" TEXT, "amount" BIGINT, "life_ms" INTEGER,
    "end_user" TEXT, "tags" TEXT[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    "owners" TEXT[] := "budget_owners"("account", "key", "end_user", "tags");
    "who" TEXT;
    "budget" "budgets";
    "bound" BOOLEAN := false;
    "at" TIMESTAMPTZ;
BEGIN
    IF cardinality("owners") > 2 THEN
        PERFORM "label_budgets_begin"("account", "end_user", "tags");
    END IF;
    FOREACH "who" IN ARRAY "owners" LOOP
        SELECT * INTO "budget" FROM "budgets" WHERE "owner_id" = "who" FOR UPDATE;
        CONTINUE WHEN NOT FOUND;
        "bound" := true;
        IF "amount" IS NULL THEN
            RAISE EXCEPTION 'the price is not known' USING ERRCODE = 'DR403', DETAIL = "budget"."owner";
        END IF;
        IF "budget_spent"("budget", clock_timestamp()) >= "budget"."limit_micros" THEN
            RAISE EXCEPTION 'the budget is used up' USING ERRCODE = 'DR402', DETAIL = json_build_object(
                'owner', "budget"."owner", 'period', "budget"."period", 'left', 0)::text;
        END IF;
    END LOOP;
    IF "bound" AND "amount" > 0 THEN
        "at" := clock_timestamp();
        INSERT INTO "chat_reserves" ("request_id", "account_id", "api_key_id", "amount_micros", "created_at", "expires_at",
            "end_user", "tags")
        VALUES ("request", "account", "key", "amount", "at", "at" + "life_ms" * interval '1 millisecond', "end_user", "tags");
        PERFORM "budgets_count"("owners", "amount", "at");
    END IF;
END;
$$;

-- For processes from before labels had budgets.
CREATE OR REPLACE FUNCTION "chat_reserve"("request" TEXT, "account" TEXT, "key" TEXT, "amount" BIGINT, "life_ms" INTEGER) RETURNS void
LANGUAGE sql AS $$
    SELECT "chat_reserve"("request", "account", "key", "amount", "life_ms", NULL, NULL)
$$;

-- Deleting a reserve's row always releases the reserve.
CREATE OR REPLACE FUNCTION "chat_reserves_release"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM "budgets_count"("budget_owners"(OLD."account_id", OLD."api_key_id", OLD."end_user", OLD."tags"),
        -OLD."amount_micros", OLD."created_at");
    RETURN OLD;
END;
$$;

CREATE OR REPLACE TRIGGER "chat_reserves_release" BEFORE DELETE ON "chat_reserves"
    FOR EACH ROW EXECUTE FUNCTION "chat_reserves_release"();

-- Recording chats counts their cost, and releases their reserves.
CREATE OR REPLACE FUNCTION "chats_count"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    "spent" RECORD;
BEGIN
    INSERT INTO "usage_changes" ("reference", "kind", "account_id", "api_key_id", "model", "provider", "outcome", "currency",
        "created_at", "images", "spend_micros", "input_tokens", "output_tokens", "latency_ms", "end_user", "tags")
    SELECT "request_id", 'chat', "account_id", "api_key_id", "model", "provider", "outcome",
        CASE WHEN "cost_micros" IS NULL THEN 'XXX' ELSE '' END, "created_at", 0,
        COALESCE("cost_micros", 0), COALESCE("input_tokens", 0), COALESCE("output_tokens", 0),
        CASE WHEN "outcome" = 'completed' THEN "duration_ms" END, "end_user", "tags"
    FROM "added";
    IF EXISTS (SELECT 1 FROM "added" WHERE "cost_micros" > 0)
        OR EXISTS (SELECT 1 FROM "added" JOIN "chat_reserves" USING ("request_id")) THEN
        PERFORM pg_advisory_xact_lock(hashtext('budgets of many'));
        FOR "spent" IN SELECT "account_id", "api_key_id", "end_user", "tags", "month_of"("created_at") AS "at",
                sum("cost_micros")::bigint AS "amount"
            FROM "added" WHERE "cost_micros" > 0 GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
        LOOP
            PERFORM "budgets_count"("budget_owners"("spent"."account_id", "spent"."api_key_id", "spent"."end_user", "spent"."tags"),
                "spent"."amount", "spent"."at");
        END LOOP;
        DELETE FROM "chat_reserves" USING "added" WHERE "chat_reserves"."request_id" = "added"."request_id";
    END IF;
    RETURN NULL;
END;
$$;

CREATE OR REPLACE TRIGGER "chats_count" AFTER INSERT ON "chat_usage" REFERENCING NEW TABLE AS "added"
    FOR EACH STATEMENT EXECUTE FUNCTION "chats_count"();

-- ---------------------------------------------------------------- usage
--
-- Each task or chat that ends inserts its own row into usage_changes, without contention. A worker rolls those rows up into
-- usage_rollups and spend_totals (billing.sql.ts), and a trigger into grouped_usage; readers add the rows that are still
-- in usage_changes. Usage without a known price has the currency XXX, ISO 4217's code for none, so that totals can say what
-- they leave out.

-- The histogram bucket of a duration: each ends a quarter of an octave above the previous one; -1 without a duration.
CREATE OR REPLACE FUNCTION "latency_bucket"("ms" BIGINT) RETURNS SMALLINT LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN "ms" IS NULL THEN -1 ELSE ceil(4 * ln(GREATEST("ms", 1)::float8) / ln(2::float8)) END::smallint
$$;

-- The bucket for percentiles: only completed tasks have one, everything else has -1.
CREATE OR REPLACE FUNCTION "usage_bucket"("kind" TEXT, "outcome" TEXT, "bucket" SMALLINT) RETURNS SMALLINT LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN "kind" = 'image' AND "outcome" = 'completed' THEN "bucket" ELSE -1 END::smallint
$$;

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

-- Adds rolled-up changes by end user and by tag, per day: a task with two tags counts for both. A trigger, so that no process of
-- an earlier version rolls changes up without it. Whatever removes changes from usage_changes rolls them up, one at a time.
CREATE OR REPLACE FUNCTION "labeled_usage"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO "labeled_usage" AS "known" ("account_id", "kind", "name", "time", "currency",
        "images", "failed", "chats", "unpriced_images", "spend_micros", "input_tokens", "output_tokens")
    SELECT "account_id", "label"."kind", "label"."name", date_trunc('day', "created_at", 'UTC'), "currency", sum("images"),
        count(*) FILTER (WHERE "taken"."kind" = 'image' AND "outcome" = 'failed'), count(*) FILTER (WHERE "taken"."kind" = 'chat'),
        COALESCE(sum(GREATEST("images", 1)) FILTER (WHERE "taken"."kind" = 'image' AND "currency" = 'XXX'), 0),
        sum("spend_micros"), sum("input_tokens"), sum("output_tokens")
    FROM "taken", LATERAL "labels_of"("end_user", "tags") AS "label"
    WHERE "end_user" IS NOT NULL OR "tags" IS NOT NULL
    GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
    ON CONFLICT ("account_id", "kind", "name", "time", "currency") DO UPDATE SET
        "images" = "known"."images" + EXCLUDED."images", "failed" = "known"."failed" + EXCLUDED."failed",
        "chats" = "known"."chats" + EXCLUDED."chats", "unpriced_images" = "known"."unpriced_images" + EXCLUDED."unpriced_images",
        "spend_micros" = "known"."spend_micros" + EXCLUDED."spend_micros",
        "input_tokens" = "known"."input_tokens" + EXCLUDED."input_tokens",
        "output_tokens" = "known"."output_tokens" + EXCLUDED."output_tokens";
    RETURN NULL;
END;
$$;

CREATE OR REPLACE TRIGGER "labeled_usage" AFTER DELETE ON "usage_changes" REFERENCING OLD TABLE AS "taken"
    FOR EACH STATEMENT EXECUTE FUNCTION "labeled_usage"();

-- The rows by which tasks are found by their end user and their tags. Costs nothing for tasks without.
CREATE OR REPLACE FUNCTION "tasks_label"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        DELETE FROM "task_labels" USING "labels_of"(OLD."end_user", OLD."tags") AS "label"
        WHERE "account_id" = OLD."account_id" AND "task_labels"."kind" = "label"."kind" AND "task_labels"."name" = "label"."name"
            AND "created_at" = OLD."created_at" AND "task_id" = OLD."id";
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO "task_labels" ("account_id", "kind", "name", "created_at", "task_id")
        SELECT NEW."account_id", "kind", "name", NEW."created_at", NEW."id" FROM "labels_of"(NEW."end_user", NEW."tags");
    END IF;
    RETURN NULL;
END;
$$;

CREATE OR REPLACE TRIGGER "tasks_label" AFTER INSERT ON "tasks"
    FOR EACH ROW WHEN (NEW."end_user" IS NOT NULL OR NEW."tags" IS NOT NULL) EXECUTE FUNCTION "tasks_label"();
CREATE OR REPLACE TRIGGER "tasks_relabel" AFTER UPDATE OF "end_user", "tags", "created_at" ON "tasks"
    FOR EACH ROW EXECUTE FUNCTION "tasks_label"();
CREATE OR REPLACE TRIGGER "tasks_unlabel" AFTER DELETE ON "tasks"
    FOR EACH ROW WHEN (OLD."end_user" IS NOT NULL OR OLD."tags" IS NOT NULL) EXECUTE FUNCTION "tasks_label"();

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

CREATE OR REPLACE TRIGGER "tasks_usage" AFTER UPDATE OF "status" ON "tasks"
    FOR EACH ROW WHEN (OLD."status" = 'pending' AND NEW."status" <> 'pending') EXECUTE FUNCTION "tasks_usage"();
CREATE OR REPLACE TRIGGER "tasks_usage_at_once" AFTER INSERT ON "tasks"
    FOR EACH ROW WHEN (NEW."status" <> 'pending') EXECUTE FUNCTION "tasks_usage"();

-- Spend of these accounts and keys, by key and by the month in which it counts: rolled up, not rolled up yet, and reserved
-- for tasks that have not ended. Chats have no currency of their own. A task counts in the month of its reserve, which is
-- written after its acceptance: so the charge of an ended task is looked up only when the task is from before this month.
CREATE OR REPLACE FUNCTION "spend_of"("accounts" TEXT[], "keys" TEXT[])
RETURNS TABLE ("account_id" TEXT, "api_key_id" TEXT, "month" TIMESTAMPTZ, "currency" TEXT, "amount" BIGINT) LANGUAGE sql STABLE AS $$
    SELECT "account_id", "api_key_id", "month", "currency", "amount_micros" FROM "spend_totals"
    WHERE "account_id" = ANY ("accounts") OR "api_key_id" = ANY ("keys")
    UNION ALL
    -- Each reserve is looked up by itself: joined, the planner would rather read all charges.
    SELECT "account_id", "api_key_id",
        CASE WHEN "created_at" >= "this"."month" THEN "this"."month"
            ELSE "month_of"(COALESCE((SELECT "reserve"."created_at" FROM "charges" AS "reserve"
                WHERE "reserve"."task_id" = "reference" AND "reserve"."kind" = 'reserve'), "created_at")) END,
        "currency", "spend_micros"
    FROM "usage_changes", (SELECT "month_of"(statement_timestamp()) AS "month" OFFSET 0) AS "this"
    WHERE ("account_id" = ANY ("accounts") OR "api_key_id" = ANY ("keys")) AND "spend_micros" <> 0
    UNION ALL
    SELECT "account_id", "api_key_id", CASE WHEN "reserved_at" >= "this"."month" THEN "this"."month" ELSE "month_of"("reserved_at") END,
        "currency", "amount_micros"
    FROM "task_reserves", (SELECT "month_of"(statement_timestamp()) AS "month" OFFSET 0) AS "this"
    WHERE "account_id" = ANY ("accounts") OR "api_key_id" = ANY ("keys")
$$;
