-- What a task costs: {"reserved", "currency", "tokens", "settled"}, in millionths; NULL = nothing is charged for it.
ALTER TABLE "tasks" ADD COLUMN "cost" JSONB;
-- What a chat has cost, in millionths; NULL = nobody can say.
ALTER TABLE "chat_usage" ADD COLUMN "cost_micros" BIGINT;

-- The ledger, which is only ever added to. A task has one row of each kind at most; when it has ended, what was reserved
-- is what was settled and what was refunded. An amount is NULL where no price was known: flagged, and never zero.
CREATE TABLE "charges" (
    "task_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "amount_micros" BIGINT,
    "currency" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "api_key_id" TEXT NOT NULL,
    "model" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "charges_pkey" PRIMARY KEY ("task_id", "kind"),
    CONSTRAINT "charges_kind_check" CHECK ("kind" IN ('reserve', 'settle', 'refund')),
    CONSTRAINT "charges_amount_check" CHECK ("amount_micros" >= 0)
);
CREATE INDEX "charges_account_id_created_at_idx" ON "charges"("account_id", "created_at" DESC);

-- Only owners with a budget have a row, so that nobody else waits for a lock.
CREATE TABLE "budgets" (
    "owner_id" TEXT NOT NULL,
    "owner" TEXT NOT NULL,
    "limit_micros" BIGINT NOT NULL,
    "period" TEXT NOT NULL,
    "spent_micros" BIGINT NOT NULL,
    "period_start" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "budgets_pkey" PRIMARY KEY ("owner_id"),
    CONSTRAINT "budgets_owner_check" CHECK ("owner" IN ('account', 'key')),
    CONSTRAINT "budgets_period_check" CHECK ("period" IN ('month', 'total')),
    CONSTRAINT "budgets_amounts_check" CHECK ("limit_micros" >= 0 AND "spent_micros" >= 0)
) WITH (fillfactor = 50);

CREATE FUNCTION "month_of"("at" TIMESTAMPTZ) RETURNS TIMESTAMPTZ LANGUAGE sql IMMUTABLE AS $$
    SELECT date_trunc('month', "at" AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
$$;

CREATE FUNCTION "budget_spent"("budget" "budgets", "at" TIMESTAMPTZ) RETURNS BIGINT LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN "budget"."period" = 'month' AND "budget"."period_start" < "month_of"("at") THEN 0
        ELSE "budget"."spent_micros" END
$$;

-- Counts what was spent at a time, or takes back (a negative amount) what was; a month that is over stays as it is.
-- The account always comes before the key, so that two who count never wait for each other in a circle.
CREATE FUNCTION "budgets_count"("account" TEXT, "key" TEXT, "amount" BIGINT, "at" TIMESTAMPTZ) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    "who" TEXT;
BEGIN
    FOREACH "who" IN ARRAY ARRAY["account", "key"] LOOP
        UPDATE "budgets" SET "spent_micros" = GREATEST("budget_spent"("budgets", "at") + "amount", 0),
            "period_start" = GREATEST("period_start", "month_of"("at"))
        WHERE "owner_id" = "who" AND ("period" = 'total' OR "period_start" <= "month_of"("at"));
    END LOOP;
END;
$$;

-- Whoever accepts a task: its reserve is written in the same statement, or the statement fails and there is no task.
CREATE FUNCTION "tasks_reserve"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    "amount" BIGINT := (NEW."cost" ->> 'reserved')::bigint;
    "who" TEXT;
    "budget" "budgets";
    "left" BIGINT;
    "at" TIMESTAMPTZ;
BEGIN
    FOREACH "who" IN ARRAY ARRAY[NEW."account_id", NEW."api_key_id"] LOOP
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
    END IF;
    RETURN NEW;
END;
$$;
CREATE TRIGGER "tasks_reserve" BEFORE INSERT ON "tasks"
    FOR EACH ROW WHEN (NEW."cost" IS NOT NULL) EXECUTE FUNCTION "tasks_reserve"();

-- Whoever ends a task, or takes it back: what it has cost is settled, and the rest refunded, in the same statement.
-- A picture that is priced by tokens never costs more than was reserved, and that much when nobody counted them.
CREATE FUNCTION "tasks_settle"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    "reserved" BIGINT := (OLD."cost" ->> 'reserved')::bigint;
    "completed" BOOLEAN := TG_OP = 'UPDATE' AND NEW."status" = 'completed';
    "settled" BIGINT := 0;
    "tokens" JSONB := OLD."cost" -> 'tokens';
    "at" TIMESTAMPTZ;
BEGIN
    IF "completed" THEN
        -- LEAST passes over what is not known.
        "settled" := CASE WHEN "reserved" IS NOT NULL THEN LEAST("reserved", ceil((
            (NEW."usage" ->> 'input_tokens')::numeric * ("tokens" ->> 'input')::numeric +
            (NEW."usage" ->> 'output_tokens')::numeric * ("tokens" ->> 'output')::numeric) / 1000000))::bigint END;
    END IF;
    SELECT "created_at" INTO "at" FROM "charges" WHERE "task_id" = OLD."id" AND "kind" = 'reserve';
    INSERT INTO "charges" ("task_id", "kind", "amount_micros", "currency", "account_id", "api_key_id", "model", "created_at")
    SELECT OLD."id", "kind", "amount", OLD."cost" ->> 'currency', OLD."account_id", OLD."api_key_id", OLD."model", clock_timestamp()
    FROM (VALUES ('settle', "settled", "completed"),
        ('refund', "reserved" - "settled", NOT "completed" OR "reserved" > "settled")) AS "row" ("kind", "amount", "written")
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
CREATE TRIGGER "tasks_settle" BEFORE UPDATE OF "status" ON "tasks"
    FOR EACH ROW WHEN (OLD."cost" IS NOT NULL AND OLD."status" = 'pending' AND NEW."status" <> 'pending')
    EXECUTE FUNCTION "tasks_settle"();
CREATE TRIGGER "tasks_take_back" BEFORE DELETE ON "tasks"
    FOR EACH ROW WHEN (OLD."cost" IS NOT NULL AND OLD."status" = 'pending') EXECUTE FUNCTION "tasks_settle"();

-- Chats count when they are written down. Who locks the budgets of many takes the lock of those who do (sweeps, too).
CREATE FUNCTION "chats_count"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    "spent" RECORD;
BEGIN
    IF EXISTS (SELECT 1 FROM "added" WHERE "cost_micros" > 0) THEN
        PERFORM pg_advisory_xact_lock(hashtext('budgets of many'));
        FOR "spent" IN SELECT "account_id", "api_key_id", "month_of"("created_at") AS "at", sum("cost_micros")::bigint AS "amount"
            FROM "added" WHERE "cost_micros" > 0 GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
        LOOP
            PERFORM "budgets_count"("spent"."account_id", "spent"."api_key_id", "spent"."amount", "spent"."at");
        END LOOP;
    END IF;
    RETURN NULL;
END;
$$;
CREATE TRIGGER "chats_count" AFTER INSERT ON "chat_usage" REFERENCING NEW TABLE AS "added"
    FOR EACH STATEMENT EXECUTE FUNCTION "chats_count"();
