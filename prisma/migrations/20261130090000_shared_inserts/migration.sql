-- A process that does not know yet of a budget inserts tasks of several owners with one statement, which locked their budgets in any
-- order: two of them could deadlock, and one was refused without a reason. Now such a statement says so before it locks any, and is
-- sent again for each task alone. Additive: a process from before does not say that a statement is shared, and goes on as it was.
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
