-- A flag returns after a pause that put it aside, and refusals count since the last pause or clearing, whatever came after it.
-- Additive: processes from before it go on as they were.
ALTER TABLE "end_user_states" ADD COLUMN "flag" JSONB, ADD COLUMN "refusals_since" TIMESTAMPTZ(3);

-- Counts a refusal with the end of its task, and pauses its end user: a pause begins with the refusal that causes it, whatever
-- happens to the process. What was refused before an end user was unblocked, or before the last pause, counts no more.
CREATE OR REPLACE FUNCTION "tasks_refused"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    "rule" RECORD;
    "at" TIMESTAMPTZ := clock_timestamp();
    "since" TIMESTAMPTZ;
    "refusals" BIGINT;
BEGIN
    INSERT INTO "end_user_refusals" ("account_id", "end_user", "refused_at", "task_id", "stage")
    VALUES (NEW."account_id", NEW."end_user", "at", NEW."id",
        COALESCE(NEW."error" -> 'moderation_details' ->> 'moderation_stage', 'unknown'));
    SELECT "pause_after", "pause_window_minutes", "pause_minutes" INTO "rule" FROM "accounts" WHERE "id" = NEW."account_id";
    IF "rule"."pause_after" IS NULL THEN RETURN NULL; END IF;
    -- A process from before the column tells it by the time of the state alone.
    SELECT GREATEST("refusals_since", CASE WHEN "state" IN ('none', 'paused') THEN "changed_at" END) INTO "since"
    FROM "end_user_states" WHERE "account_id" = NEW."account_id" AND "end_user" = NEW."end_user";
    SELECT count(*) INTO "refusals" FROM (
        SELECT 1 FROM "end_user_refusals"
        WHERE "account_id" = NEW."account_id" AND "end_user" = NEW."end_user"
            AND "refused_at" > GREATEST("at" - "rule"."pause_window_minutes" * interval '1 minute', COALESCE("since", '-infinity'))
        LIMIT "rule"."pause_after") AS "latest";
    IF "refusals" < "rule"."pause_after" THEN RETURN NULL; END IF;
    INSERT INTO "end_user_states" AS "known" ("account_id", "end_user", "state", "until", "cause", "reason", "changed_at", "refusals_since")
    VALUES (NEW."account_id", NEW."end_user", 'paused', "at" + "rule"."pause_minutes" * interval '1 minute', 'refusals',
        format('%s requests were refused for their content within %s minutes', "refusals", "rule"."pause_window_minutes"), "at", "at")
    ON CONFLICT ("account_id", "end_user") DO UPDATE SET "state" = 'paused', "until" = EXCLUDED."until", "cause" = 'refusals',
        "reason" = EXCLUDED."reason", "provider" = NULL, "case_id" = NULL, "changed_by" = NULL,
        "changed_at" = EXCLUDED."changed_at", "announced_at" = NULL, "refusals_since" = EXCLUDED."refusals_since",
        "flag" = CASE "known"."state" WHEN 'paused' THEN "known"."flag" WHEN 'flagged' THEN jsonb_build_object(
            'cause', "known"."cause", 'reason', "known"."reason", 'provider', "known"."provider", 'caseId', "known"."case_id",
            'changedBy', "known"."changed_by", 'changedAt', "known"."changed_at") END
    WHERE "known"."state" <> 'blocked' AND ("known"."until" IS NULL OR "known"."until" <= EXCLUDED."changed_at");
    RETURN NULL;
END;
$$;
