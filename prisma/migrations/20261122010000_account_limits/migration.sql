-- What an account may do with all its keys together, set by operators; NULL = the deployment's default, 0 = unlimited.
ALTER TABLE "accounts"
    ADD COLUMN "weight" INTEGER NOT NULL DEFAULT 1,
    ADD COLUMN "submits_per_minute" INTEGER,
    ADD COLUMN "polls_per_minute" INTEGER,
    ADD COLUMN "chats_per_minute" INTEGER,
    ADD COLUMN "tasks_in_flight" INTEGER,
    ADD COLUMN "max_keys" INTEGER,
    ADD CONSTRAINT "accounts_weight_check" CHECK ("weight" BETWEEN 1 AND 100),
    ADD CONSTRAINT "accounts_limits_check" CHECK (
        COALESCE("submits_per_minute", 0) >= 0 AND COALESCE("polls_per_minute", 0) >= 0
        AND COALESCE("chats_per_minute", 0) >= 0 AND COALESCE("tasks_in_flight", 0) >= 0 AND COALESCE("max_keys", 0) >= 0);

-- Who made a key in the console; NULL = an operator's command, or an older key. Members manage the keys they made.
ALTER TABLE "api_keys" ADD COLUMN "created_by" TEXT;
