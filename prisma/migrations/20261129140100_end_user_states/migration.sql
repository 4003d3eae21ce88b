-- End users who may be refused, content that providers refused, and providers' notices about end users. Additive: processes
-- from before it go on as they were.

-- When an end user is paused: after how many refusals within how many minutes, and for how long. Null: never.
ALTER TABLE "accounts" ADD COLUMN "pause_after" INTEGER, ADD COLUMN "pause_window_minutes" INTEGER, ADD COLUMN "pause_minutes" INTEGER;

CREATE TABLE "end_user_states" (
    "account_id" TEXT NOT NULL,
    "end_user" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "until" TIMESTAMPTZ(3),
    "cause" TEXT NOT NULL,
    "reason" TEXT,
    "provider" TEXT,
    "case_id" TEXT,
    "changed_by" TEXT,
    "changed_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "announced_at" TIMESTAMPTZ(3),

    CONSTRAINT "end_user_states_pkey" PRIMARY KEY ("account_id", "end_user"),
    CONSTRAINT "end_user_states_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id"),
    CONSTRAINT "end_user_states_state_check" CHECK ("state" IN ('none', 'flagged', 'paused', 'blocked')),
    CONSTRAINT "end_user_states_until_check" CHECK (("until" IS NOT NULL) = ("state" = 'paused')),
    CONSTRAINT "end_user_states_cause_check" CHECK ("cause" IN ('person', 'provider', 'refusals'))
);
CREATE INDEX "end_user_states_account_id_changed_at_idx" ON "end_user_states"("account_id", "changed_at" DESC);
CREATE INDEX "end_user_states_changed_at_idx" ON "end_user_states"("changed_at");
-- Those that nobody was told of yet: few, and looked for every second.
CREATE INDEX "end_user_states_unannounced_idx" ON "end_user_states"("changed_at") WHERE "announced_at" IS NULL;

-- A row per refused task, apart from tasks, so that it outlives them and no index has to be built over them.
CREATE TABLE "end_user_refusals" (
    "account_id" TEXT NOT NULL,
    "end_user" TEXT NOT NULL,
    "refused_at" TIMESTAMPTZ(3) NOT NULL,
    "task_id" TEXT NOT NULL,
    "stage" TEXT NOT NULL,

    CONSTRAINT "end_user_refusals_pkey" PRIMARY KEY ("account_id", "end_user", "refused_at", "task_id")
);
CREATE INDEX "end_user_refusals_refused_at_idx" ON "end_user_refusals"("refused_at");
CREATE INDEX "end_user_refusals_account_id_refused_at_idx" ON "end_user_refusals"("account_id", "refused_at");

-- Counts a refusal with the end of its task, and pauses its end user: a pause begins with the refusal that causes it, whatever
-- happens to the process. What was refused before an end user was unblocked, or before the last pause, counts no more.
CREATE FUNCTION "tasks_refused"() RETURNS trigger LANGUAGE plpgsql AS $$
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
    SELECT "changed_at" INTO "since" FROM "end_user_states"
    WHERE "account_id" = NEW."account_id" AND "end_user" = NEW."end_user" AND "state" IN ('none', 'paused');
    SELECT count(*) INTO "refusals" FROM (
        SELECT 1 FROM "end_user_refusals"
        WHERE "account_id" = NEW."account_id" AND "end_user" = NEW."end_user"
            AND "refused_at" > GREATEST("at" - "rule"."pause_window_minutes" * interval '1 minute', COALESCE("since", '-infinity'))
        LIMIT "rule"."pause_after") AS "latest";
    IF "refusals" < "rule"."pause_after" THEN RETURN NULL; END IF;
    INSERT INTO "end_user_states" AS "known" ("account_id", "end_user", "state", "until", "cause", "reason", "changed_at")
    VALUES (NEW."account_id", NEW."end_user", 'paused', "at" + "rule"."pause_minutes" * interval '1 minute', 'refusals',
        format('%s requests were refused for their content within %s minutes', "refusals", "rule"."pause_window_minutes"), "at")
    ON CONFLICT ("account_id", "end_user") DO UPDATE SET "state" = 'paused', "until" = EXCLUDED."until", "cause" = 'refusals',
        "reason" = EXCLUDED."reason", "provider" = NULL, "case_id" = NULL, "changed_by" = NULL,
        "changed_at" = EXCLUDED."changed_at", "announced_at" = NULL
    WHERE "known"."state" <> 'blocked' AND ("known"."until" IS NULL OR "known"."until" <= EXCLUDED."changed_at");
    RETURN NULL;
END;
$$;
CREATE TRIGGER "tasks_refused" AFTER UPDATE OF "status" ON "tasks"
    FOR EACH ROW WHEN (OLD."status" = 'pending' AND NEW."status" = 'failed' AND NEW."end_user" IS NOT NULL
        AND NEW."error" ->> 'code' = 'moderation_blocked')
    EXECUTE FUNCTION "tasks_refused"();

-- What a provider's webhook told about an end user, until its case was read and acted on; then kept as proof against replays.
CREATE TABLE "safety_notices" (
    "provider" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "case_id" TEXT NOT NULL,
    "received_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "next_try_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "tries" INTEGER NOT NULL DEFAULT 0,
    "ended_at" TIMESTAMPTZ(3),
    "outcome" TEXT,
    "end_user" TEXT,

    CONSTRAINT "safety_notices_pkey" PRIMARY KEY ("provider", "id"),
    CONSTRAINT "safety_notices_outcome_check" CHECK ("outcome" IN ('applied', 'unknown', 'unreadable')),
    CONSTRAINT "safety_notices_ended_check" CHECK (("ended_at" IS NULL) = ("outcome" IS NULL))
);
CREATE INDEX "safety_notices_received_at_idx" ON "safety_notices"("received_at");
CREATE INDEX "safety_notices_due_idx" ON "safety_notices"("next_try_at") WHERE "ended_at" IS NULL;
