-- Chats count as refusals of their end user, too. Additive: processes from before it go on as they were.
ALTER TABLE "chat_usage" ADD COLUMN "refused_stage" TEXT;

-- Counts a refusal where it is written down, and pauses its end user: a pause begins with the refusal that causes it, whatever
-- happens to the process. What was refused before an end user was unblocked, or before the last pause, counts no more.
CREATE FUNCTION "refusal_count"("of_account" TEXT, "of_end_user" TEXT, "reference" TEXT, "of_stage" TEXT) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    "rule" RECORD;
    "at" TIMESTAMPTZ := clock_timestamp();
    "since" TIMESTAMPTZ;
    "refusals" BIGINT;
BEGIN
    INSERT INTO "end_user_refusals" ("account_id", "end_user", "refused_at", "task_id", "stage")
    VALUES ("of_account", "of_end_user", "at", "reference", "of_stage");
    SELECT "pause_after", "pause_window_minutes", "pause_minutes" INTO "rule" FROM "accounts" WHERE "id" = "of_account";
    IF "rule"."pause_after" IS NULL THEN RETURN; END IF;
    -- A process from before the column tells it by the time of the state alone.
    SELECT GREATEST("refusals_since", CASE WHEN "state" IN ('none', 'paused') THEN "changed_at" END) INTO "since"
    FROM "end_user_states" WHERE "account_id" = "of_account" AND "end_user" = "of_end_user";
    SELECT count(*) INTO "refusals" FROM (
        SELECT 1 FROM "end_user_refusals"
        WHERE "account_id" = "of_account" AND "end_user" = "of_end_user"
            AND "refused_at" > GREATEST("at" - "rule"."pause_window_minutes" * interval '1 minute', COALESCE("since", '-infinity'))
        LIMIT "rule"."pause_after") AS "latest";
    IF "refusals" < "rule"."pause_after" THEN RETURN; END IF;
    INSERT INTO "end_user_states" AS "known" ("account_id", "end_user", "state", "until", "cause", "reason", "changed_at", "refusals_since")
    VALUES ("of_account", "of_end_user", 'paused', "at" + "rule"."pause_minutes" * interval '1 minute', 'refusals',
        format('%s requests were refused for their content within %s minutes', "refusals", "rule"."pause_window_minutes"), "at", "at")
    ON CONFLICT ("account_id", "end_user") DO UPDATE SET "state" = 'paused', "until" = EXCLUDED."until", "cause" = 'refusals',
        "reason" = EXCLUDED."reason", "provider" = NULL, "case_id" = NULL, "changed_by" = NULL,
        "changed_at" = EXCLUDED."changed_at", "announced_at" = NULL, "refusals_since" = EXCLUDED."refusals_since",
        "flag" = CASE "known"."state" WHEN 'paused' THEN "known"."flag" WHEN 'flagged' THEN jsonb_build_object(
            'cause', "known"."cause", 'reason', "known"."reason", 'provider', "known"."provider", 'caseId', "known"."case_id",
            'changedBy', "known"."changed_by", 'changedAt', "known"."changed_at") END
    WHERE "known"."state" <> 'blocked' AND ("known"."until" IS NULL OR "known"."until" <= EXCLUDED."changed_at");
END;
$$;

CREATE OR REPLACE FUNCTION "tasks_refused"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM "refusal_count"(NEW."account_id", NEW."end_user", NEW."id",
        COALESCE(NEW."error" -> 'moderation_details' ->> 'moderation_stage', 'unknown'));
    RETURN NULL;
END;
$$;

CREATE FUNCTION "chats_refused"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM "refusal_count"(NEW."account_id", NEW."end_user", NEW."request_id", NEW."refused_stage");
    RETURN NULL;
END;
$$;
CREATE TRIGGER "chats_refused" AFTER INSERT ON "chat_usage"
    FOR EACH ROW WHEN (NEW."refused_stage" IS NOT NULL AND NEW."end_user" IS NOT NULL)
    EXECUTE FUNCTION "chats_refused"();
