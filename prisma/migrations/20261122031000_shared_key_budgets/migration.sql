-- Keys that replaced each other share the budget of the first of them: its id; NULL = the key's own.
ALTER TABLE "api_keys" ADD COLUMN "budget_id" TEXT;

-- Whose budget an account (its own) or a key draws on.
CREATE FUNCTION "budget_of"("id" TEXT) RETURNS TEXT LANGUAGE sql STABLE AS $$
    SELECT COALESCE((SELECT "budget_id" FROM "api_keys" WHERE "api_keys"."id" = "budget_of"."id"), "budget_of"."id")
$$;

CREATE OR REPLACE FUNCTION "budgets_count"("account" TEXT, "key" TEXT, "amount" BIGINT, "at" TIMESTAMPTZ) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    "who" TEXT;
BEGIN
    FOREACH "who" IN ARRAY ARRAY["account", "budget_of"("key")] LOOP
        UPDATE "budgets" SET "spent_micros" = GREATEST("budget_spent"("budgets", "at") + "amount", 0),
            "period_start" = GREATEST("period_start", "month_of"("at"))
        WHERE "owner_id" = "who" AND ("period" = 'total' OR "period_start" <= "month_of"("at"));
    END LOOP;
END;
$$;

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
    END IF;
    RETURN NEW;
END;
$$;
