-- Limits of end users and of tags. Additive: processes from before it go on as they were, and triggers count for them, too.
CREATE TABLE "label_limits" (
    "account_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "requests_per_minute" INTEGER,
    "tasks_in_flight" INTEGER,
    "monthly_budget_micros" BIGINT,
    "weight" INTEGER,

    CONSTRAINT "label_limits_pkey" PRIMARY KEY ("account_id", "kind", "name"),
    CONSTRAINT "label_limits_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id"),
    CONSTRAINT "label_limits_kind_check" CHECK ("kind" IN ('end_user', 'tag'))
);

ALTER TABLE "chat_reserves" ADD COLUMN "end_user" TEXT, ADD COLUMN "tags" TEXT[];
