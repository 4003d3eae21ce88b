-- What waiting tasks have reserved, each in a small row of its own: spend and usage read these instead of the tasks, which
-- are wide and whose cost is JSON (docs/decisions/2026-11-22-usage-rollups.md). See libs/billing/ledger.sql.

CREATE TABLE "task_reserves" (
    "task_id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "api_key_id" TEXT NOT NULL,
    "model" TEXT NOT NULL,
    "currency" TEXT NOT NULL,
    "amount_micros" BIGINT NOT NULL,
    "reserved_at" TIMESTAMPTZ(3) NOT NULL,
    "hour" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "task_reserves_pkey" PRIMARY KEY ("task_id")
);
CREATE INDEX "task_reserves_account_id_hour_idx" ON "task_reserves"("account_id", "hour");
CREATE INDEX "task_reserves_api_key_id_idx" ON "task_reserves"("api_key_id");

-- Replaced by itself: that waits for the statements that insert or end tasks, and holds the next ones back until the
-- functions are new and the tasks that wait have their rows.
CREATE OR REPLACE TRIGGER "tasks_reserve" BEFORE INSERT ON "tasks"
    FOR EACH ROW WHEN (NEW."cost" IS NOT NULL) EXECUTE FUNCTION "tasks_reserve"();

-- Accepting a task: the same statement writes its reserve, or fails and leaves no task.
-- DR402: a budget is not enough; DR403: there is a budget, but no known price (budget-refusal.ts).
CREATE OR REPLACE FUNCTION "tasks_reserve"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    "amount" BIGINT := (NEW."cost" ->> 'reserved')::bigint;
    "who" TEXT;
    "budget" "budgets";
    "left" BIGINT;
    "at" TIMESTAMPTZ;
BEGIN
    FOREACH "who" IN ARRAY ARRAY[NEW."account_id", "budget_of"(NEW."api_key_id")] LOOP
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
        PERFORM "budgets_count"(NEW."account_id", NEW."api_key_id", "amount", "at");
        IF NEW."status" = 'pending' THEN
            INSERT INTO "task_reserves" ("task_id", "account_id", "api_key_id", "model", "currency", "amount_micros", "reserved_at", "hour")
            VALUES (NEW."id", NEW."account_id", NEW."api_key_id", NEW."model", NEW."cost" ->> 'currency', "amount", "at",
                date_trunc('hour', NEW."created_at", 'UTC'));
        END IF;
    END IF;
    RETURN NEW;
END;
$$;

-- Ending or deleting a task: the same statement settles its cost and refunds the rest.
-- In a task of several images ("cost" -> 'n'), each delivered image costs its part of the reserve. Images priced by tokens
-- never cost more than that, and exactly that when the tokens were not counted. A canceled task settles what a provider
-- may have charged for it, or the share that its price sets; a failed task costs nothing.
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
    DELETE FROM "task_reserves" WHERE "task_id" = OLD."id" RETURNING "reserved_at" INTO "at";
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

INSERT INTO "task_reserves" ("task_id", "account_id", "api_key_id", "model", "currency", "amount_micros", "reserved_at", "hour")
SELECT "id", "account_id", "api_key_id", "model", "cost" ->> 'currency', ("cost" ->> 'reserved')::bigint,
    COALESCE((SELECT "charges"."created_at" FROM "charges" WHERE "task_id" = "tasks"."id" AND "kind" = 'reserve'), "created_at"),
    date_trunc('hour', "created_at", 'UTC')
FROM "tasks" WHERE "finished_at" IS NULL AND ("cost" ->> 'reserved')::bigint > 0;

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
