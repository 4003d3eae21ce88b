-- Budgets of end users and of tags. Processes from before it go on as they were: what they called is still there.
ALTER TABLE "budgets" DROP CONSTRAINT "budgets_owner_check";
ALTER TABLE "budgets" ADD CONSTRAINT "budgets_owner_check" CHECK ("owner" IN ('account', 'key', 'end_user', 'tag')) NOT VALID;

-- The owner of a label's budget. No id of an account or a key has a space.
CREATE FUNCTION "label_owner"("account" TEXT, "kind" TEXT, "name" TEXT) RETURNS TEXT LANGUAGE sql IMMUTABLE AS $$
    SELECT "account" || ' ' || "kind" || ' ' || "name"
$$;

-- All whose budgets a task or chat counts in, in the order in which they are locked: its account, its key, its end user, its tags.
CREATE FUNCTION "budget_owners"("account" TEXT, "key" TEXT, "end_user" TEXT, "tags" TEXT[]) RETURNS TEXT[]
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
CREATE FUNCTION "label_spent"("account" TEXT, "of_kind" TEXT, "of_name" TEXT, "since" TIMESTAMPTZ) RETURNS BIGINT LANGUAGE sql STABLE AS $$
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
CREATE FUNCTION "label_budgets_begin"("account" TEXT, "end_user" TEXT, "tags" TEXT[]) RETURNS void
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
CREATE FUNCTION "budgets_count"("owners" TEXT[], "amount" BIGINT, "at" TIMESTAMPTZ) RETURNS void
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

-- Accepting a task: the same statement writes its reserve, or fails and leaves no task.
-- DR402: a budget is not enough; DR403: there is a budget, but no known price (budget-refusal.ts).
CREATE OR REPLACE FUNCTION "tasks_reserve"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    "amount" BIGINT := (NEW."cost" ->> 'reserved')::bigint;
    "owners" TEXT[] := "budget_owners"(NEW."account_id", NEW."api_key_id", NEW."end_user", NEW."tags");
    "who" TEXT;
    "budget" "budgets";
    "left" BIGINT;
    "at" TIMESTAMPTZ;
BEGIN
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

-- Refuses a chat whose budget is used up, or whose price is unknown, like tasks_reserve; otherwise reserves the amount.
-- The last accepted chat may cost more than is left. Without a budget, nothing is written.
CREATE FUNCTION "chat_reserve"("request" TEXT, "account" TEXT, "key" TEXT, "amount" BIGINT, "life_ms" INTEGER,
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
