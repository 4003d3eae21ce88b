-- What is set aside for chats whose caller or account has a budget, until they are written down (chat_usage).
CREATE TABLE "chat_reserves" (
    "request_id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "api_key_id" TEXT NOT NULL,
    "amount_micros" BIGINT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "chat_reserves_pkey" PRIMARY KEY ("request_id"),
    CONSTRAINT "chat_reserves_amount_check" CHECK ("amount_micros" >= 0)
);
CREATE INDEX "chat_reserves_expires_at_idx" ON "chat_reserves"("expires_at");

-- Refuses a chat whose budget is used up, or whose price nobody knows, as tasks_reserve does; else sets the amount aside.
-- The last chat that is let in may be dearer than what is left.
CREATE FUNCTION "chat_reserve"("request" TEXT, "account" TEXT, "key" TEXT, "amount" BIGINT, "life_ms" INTEGER) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    "who" TEXT;
    "budget" "budgets";
    "bound" BOOLEAN := false;
    "at" TIMESTAMPTZ;
BEGIN
    FOREACH "who" IN ARRAY ARRAY["account", "budget_of"("key")] LOOP
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
        INSERT INTO "chat_reserves" ("request_id", "account_id", "api_key_id", "amount_micros", "created_at", "expires_at")
        VALUES ("request", "account", "key", "amount", "at", "at" + "life_ms" * interval '1 millisecond');
        PERFORM "budgets_count"("account", "key", "amount", "at");
    END IF;
END;
$$;

CREATE FUNCTION "chat_reserves_release"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM "budgets_count"(OLD."account_id", OLD."api_key_id", -OLD."amount_micros", OLD."created_at");
    RETURN OLD;
END;
$$;
CREATE TRIGGER "chat_reserves_release" BEFORE DELETE ON "chat_reserves"
    FOR EACH ROW EXECUTE FUNCTION "chat_reserves_release"();

-- What a chat has cost takes the place of what was set aside for it.
CREATE OR REPLACE FUNCTION "chats_count"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    "spent" RECORD;
BEGIN
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
