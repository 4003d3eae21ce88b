-- End users and tags. Additive: rows without either, and those of processes from before it, cost nothing more and are found as they were.

-- What a key does with the identifiers of end users (off | forward | derive | require), and the tags of all its requests.
ALTER TABLE "api_keys" ADD COLUMN "end_users" TEXT NOT NULL DEFAULT 'off', ADD COLUMN "tags" TEXT[] NOT NULL DEFAULT '{}';

-- What identifiers of end users are derived with: one of each account, for good.
CREATE TABLE "end_user_secrets" (
    "account_id" TEXT NOT NULL,
    "key_id" TEXT NOT NULL,
    "sealed" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "end_user_secrets_pkey" PRIMARY KEY ("account_id"),
    CONSTRAINT "end_user_secrets_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id")
);

ALTER TABLE "tasks" ADD COLUMN "end_user" TEXT, ADD COLUMN "tags" TEXT[];
ALTER TABLE "task_reserves" ADD COLUMN "end_user" TEXT, ADD COLUMN "tags" TEXT[];
ALTER TABLE "chat_usage" ADD COLUMN "end_user" TEXT, ADD COLUMN "tags" TEXT[];
ALTER TABLE "usage_changes" ADD COLUMN "end_user" TEXT, ADD COLUMN "tags" TEXT[];

-- Apart from tasks, so that tasks without labels have no more to index, and no index has to be built over them.
CREATE TABLE "task_labels" (
    "account_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "task_id" TEXT NOT NULL,

    CONSTRAINT "task_labels_pkey" PRIMARY KEY ("account_id", "kind", "name", "created_at", "task_id")
);

CREATE TABLE "labeled_usage" (
    "account_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "time" TIMESTAMPTZ(3) NOT NULL,
    "currency" TEXT NOT NULL,
    "images" BIGINT NOT NULL,
    "failed" BIGINT NOT NULL,
    "chats" BIGINT NOT NULL,
    "unpriced_images" BIGINT NOT NULL,
    "spend_micros" BIGINT NOT NULL,
    "input_tokens" BIGINT NOT NULL,
    "output_tokens" BIGINT NOT NULL,

    CONSTRAINT "labeled_usage_pkey" PRIMARY KEY ("account_id", "kind", "name", "time", "currency")
);
-- Those who spent most on a day, however many there are.
CREATE INDEX "labeled_usage_top_idx" ON "labeled_usage"("account_id", "kind", "time", "spend_micros" DESC, "images" DESC);
CREATE INDEX "labeled_usage_time_idx" ON "labeled_usage"("time");

-- Accepting a task: the same statement writes its reserve, or fails and leaves no task.
-- DR402: a budget is not enough; DR403: there is a budget, but no known price (budget-refusal.ts).
CREATE OR REPLACE FUNCTION "tasks_reserve"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    "amount" BIGINT := (NEW."cost" ->> 'reserved')::bigint;
    "who" TEXT;
    "budget" "budgets";
    "left" BIGINT;
    "at" TIMESTAMPTZ;
BEGIN
    FOREACH "who" IN ARRAY ARRAY[NEW."account_id", "budget_of"(NEW."api_key_id")] LOOP
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
        PERFORM "budgets_count"(NEW."account_id", NEW."api_key_id", "amount", "at");
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

-- Recording chats counts their cost, and releases their reserves.
CREATE OR REPLACE FUNCTION "chats_count"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    "spent" RECORD;
BEGIN
    INSERT INTO "usage_changes" ("reference", "kind", "account_id", "api_key_id", "model", "provider", "outcome", "currency",
        "created_at", "images", "spend_micros", "input_tokens", "output_tokens", "latency_ms", "end_user", "tags")
    SELECT "request_id", 'chat', "account_id", "api_key_id", "model", "provider", "outcome",
        CASE WHEN "cost_micros" IS NULL THEN 'XXX' ELSE '' END, "created_at", 0,
        COALESCE("cost_micros", 0), COALESCE("input_tokens", 0), COALESCE("output_tokens", 0),
        CASE WHEN "outcome" = 'completed' THEN "duration_ms" END, "end_user", "tags"
    FROM "added";
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

-- Usage of an ended task. In `charges`, a task counts in the month of its reserve; in usage, in the hour of its acceptance.
CREATE OR REPLACE FUNCTION "tasks_usage"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO "usage_changes" ("reference", "kind", "account_id", "api_key_id", "model", "provider", "outcome", "currency",
        "created_at", "images", "spend_micros", "input_tokens", "output_tokens", "latency_ms", "end_user", "tags")
    VALUES (NEW."id", 'image', NEW."account_id", NEW."api_key_id", NEW."model", COALESCE(NEW."provider", ''), NEW."status",
        CASE WHEN NEW."cost" IS NOT NULL AND NEW."status" IN ('completed', 'cancelled')
                AND COALESCE(NEW."cost" ->> 'settled', NEW."cost" ->> 'reserved') IS NULL THEN 'XXX'
            ELSE COALESCE(NEW."cost" ->> 'currency', '') END, NEW."created_at",
        CASE WHEN NEW."status" = 'completed' THEN GREATEST(jsonb_array_length(NEW."images"), 1) ELSE 0 END,
        CASE WHEN NEW."status" IN ('completed', 'cancelled')
            THEN COALESCE((NEW."cost" ->> 'settled')::bigint, (NEW."cost" ->> 'reserved')::bigint, 0) ELSE 0 END,
        COALESCE((NEW."usage" ->> 'input_tokens')::bigint, 0), COALESCE((NEW."usage" ->> 'output_tokens')::bigint, 0),
        CASE WHEN NEW."status" = 'completed'
            THEN round(EXTRACT(EPOCH FROM NEW."finished_at" - NEW."created_at") * 1000)::bigint END,
        NEW."end_user", NEW."tags");
    RETURN NULL;
END;
$$;

-- The labels of a task or chat: its end user and its tags.
CREATE FUNCTION "labels_of"("end_user" TEXT, "tags" TEXT[]) RETURNS TABLE ("kind" TEXT, "name" TEXT) LANGUAGE sql IMMUTABLE AS $$
    SELECT 'end_user', "end_user" WHERE "end_user" IS NOT NULL
    UNION ALL SELECT DISTINCT 'tag', "tag" FROM unnest("tags") AS "tag"
$$;

-- Adds rolled-up changes by end user and by tag, per day: a task with two tags counts for both. A trigger, so that no process of
-- an earlier version rolls changes up without it. Whatever removes changes from usage_changes rolls them up, one at a time.
CREATE FUNCTION "labeled_usage"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO "labeled_usage" AS "known" ("account_id", "kind", "name", "time", "currency",
        "images", "failed", "chats", "unpriced_images", "spend_micros", "input_tokens", "output_tokens")
    SELECT "account_id", "label"."kind", "label"."name", date_trunc('day', "created_at", 'UTC'), "currency", sum("images"),
        count(*) FILTER (WHERE "taken"."kind" = 'image' AND "outcome" = 'failed'), count(*) FILTER (WHERE "taken"."kind" = 'chat'),
        COALESCE(sum(GREATEST("images", 1)) FILTER (WHERE "taken"."kind" = 'image' AND "currency" = 'XXX'), 0),
        sum("spend_micros"), sum("input_tokens"), sum("output_tokens")
    FROM "taken", LATERAL "labels_of"("end_user", "tags") AS "label"
    WHERE "end_user" IS NOT NULL OR "tags" IS NOT NULL
    GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
    ON CONFLICT ("account_id", "kind", "name", "time", "currency") DO UPDATE SET
        "images" = "known"."images" + EXCLUDED."images", "failed" = "known"."failed" + EXCLUDED."failed",
        "chats" = "known"."chats" + EXCLUDED."chats", "unpriced_images" = "known"."unpriced_images" + EXCLUDED."unpriced_images",
        "spend_micros" = "known"."spend_micros" + EXCLUDED."spend_micros",
        "input_tokens" = "known"."input_tokens" + EXCLUDED."input_tokens",
        "output_tokens" = "known"."output_tokens" + EXCLUDED."output_tokens";
    RETURN NULL;
END;
$$;

CREATE TRIGGER "labeled_usage" AFTER DELETE ON "usage_changes" REFERENCING OLD TABLE AS "taken"
    FOR EACH STATEMENT EXECUTE FUNCTION "labeled_usage"();

-- The rows by which tasks are found by their end user and their tags. Costs nothing for tasks without.
CREATE FUNCTION "tasks_label"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        DELETE FROM "task_labels" USING "labels_of"(OLD."end_user", OLD."tags") AS "label"
        WHERE "account_id" = OLD."account_id" AND "task_labels"."kind" = "label"."kind" AND "task_labels"."name" = "label"."name"
            AND "created_at" = OLD."created_at" AND "task_id" = OLD."id";
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO "task_labels" ("account_id", "kind", "name", "created_at", "task_id")
        SELECT NEW."account_id", "kind", "name", NEW."created_at", NEW."id" FROM "labels_of"(NEW."end_user", NEW."tags");
    END IF;
    RETURN NULL;
END;
$$;

CREATE TRIGGER "tasks_label" AFTER INSERT ON "tasks"
    FOR EACH ROW WHEN (NEW."end_user" IS NOT NULL OR NEW."tags" IS NOT NULL) EXECUTE FUNCTION "tasks_label"();
CREATE TRIGGER "tasks_relabel" AFTER UPDATE OF "end_user", "tags", "created_at" ON "tasks"
    FOR EACH ROW EXECUTE FUNCTION "tasks_label"();
CREATE TRIGGER "tasks_unlabel" AFTER DELETE ON "tasks"
    FOR EACH ROW WHEN (OLD."end_user" IS NOT NULL OR OLD."tags" IS NOT NULL) EXECUTE FUNCTION "tasks_label"();
