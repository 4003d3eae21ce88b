-- Approval above a price: a request that may cost more than its key or account may spend without an approval becomes a task
-- in the phase `held`, until somebody approves or rejects it.
ALTER TABLE "accounts" ADD COLUMN "approve_above_micros" BIGINT;
ALTER TABLE "api_keys" ADD COLUMN "approve_above_micros" BIGINT;
ALTER TABLE "tasks" ADD COLUMN "approval" JSONB;

-- Not validated, because that would lock the table for as long as it takes to read all of it: every row has passed the
-- narrower check.
ALTER TABLE "tasks" DROP CONSTRAINT "tasks_phase_check";
ALTER TABLE "tasks" ADD CONSTRAINT "tasks_phase_check" CHECK ("phase" IN ('held', 'queued', 'running', 'storing', 'done')) NOT VALID;

-- Like tasks_tell_end, when a task begins to wait for its approval: for endpoints that ask for it, whoever waits for the
-- task. A task's own callback_url is told of its end alone.
CREATE FUNCTION "tasks_tell_held"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO "webhook_deliveries" ("id", "account_id", "task_id", "endpoint_id", "event", "next_try_at")
    SELECT 'whd_' || replace(gen_random_uuid()::text, '-', ''), NEW."account_id", NEW."id", "id", 'image.task.held', now()
    FROM "webhook_endpoints"
    WHERE "account_id" = NEW."account_id" AND "disabled_at" IS NULL AND 'image.task.held' = ANY ("events");
    RETURN NULL;
END;
$$;
CREATE TRIGGER "tasks_held" AFTER INSERT ON "tasks"
    FOR EACH ROW WHEN (NEW."phase" = 'held') EXECUTE FUNCTION "tasks_tell_held"();
