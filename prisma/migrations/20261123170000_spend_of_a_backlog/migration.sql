-- The spend of accounts and keys no longer reads the charge of each waiting task, only of those from before this month: see libs/billing/ledger.sql.

-- Spend of these accounts and keys, by key and by the month in which it counts: rolled up, not rolled up yet, and reserved
-- for tasks that have not ended. Chats have no currency of their own. A task counts in the month of its reserve, which is
-- written after its acceptance: so the reserve is looked up only for tasks from before this month.
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
    -- The few that have not ended first (OFFSET keeps the planner from going through all of an account's tasks).
    SELECT "account_id", "api_key_id",
        CASE WHEN "created_at" >= "this"."month" THEN "this"."month"
            ELSE "month_of"(COALESCE((SELECT "reserve"."created_at" FROM "charges" AS "reserve"
                WHERE "reserve"."task_id" = "open"."id" AND "reserve"."kind" = 'reserve'), "created_at")) END,
        "cost" ->> 'currency', COALESCE(("cost" ->> 'reserved')::bigint, 0)
    FROM (SELECT * FROM "tasks" WHERE "finished_at" IS NULL OFFSET 0) AS "open",
        (SELECT "month_of"(statement_timestamp()) AS "month" OFFSET 0) AS "this"
    WHERE "cost" IS NOT NULL AND ("account_id" = ANY ("accounts") OR "api_key_id" = ANY ("keys"))
$$;
