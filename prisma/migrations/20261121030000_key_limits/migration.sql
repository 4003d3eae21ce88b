-- Limits of one key, instead of those of the deployment; NULL = the deployment's, 0 = none.
ALTER TABLE "api_keys"
    ADD COLUMN "submits_per_minute" INTEGER,
    ADD COLUMN "polls_per_minute" INTEGER,
    ADD COLUMN "tasks_in_flight" INTEGER,
    ADD CONSTRAINT "api_keys_limits_check" CHECK (
        COALESCE("submits_per_minute", 0) >= 0 AND COALESCE("polls_per_minute", 0) >= 0 AND COALESCE("tasks_in_flight", 0) >= 0);

-- How long the task was said to take when it was accepted; NULL = nobody could say. Written once, with the row.
ALTER TABLE "tasks" ADD COLUMN "estimated_ms" INTEGER;
