-- Deleted tasks, and tasks that are to be deleted by themselves. What remains of a deleted task is what the ledger needs.
ALTER TABLE "tasks" ADD COLUMN "deleted_at" TIMESTAMPTZ(3);
ALTER TABLE "tasks" ADD COLUMN "expires_at" TIMESTAMPTZ(3);
ALTER TABLE "tasks" ADD COLUMN "kept_after_end_ms" INTEGER;

-- How long the tasks of a key or an account are kept.
ALTER TABLE "api_keys" ADD COLUMN "keep_seconds" INTEGER;
ALTER TABLE "accounts" ADD COLUMN "keep_seconds" INTEGER;

CREATE TABLE "task_erasures" (
    "task_id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "due_at" TIMESTAMPTZ(3),
    "deleted_at" TIMESTAMPTZ(3),
    "erased_at" TIMESTAMPTZ(3),
    "erased" JSONB,

    CONSTRAINT "task_erasures_pkey" PRIMARY KEY ("task_id")
);
CREATE INDEX "task_erasures_due_at_idx" ON "task_erasures"("due_at") WHERE "deleted_at" IS NULL AND "due_at" IS NOT NULL;
CREATE INDEX "task_erasures_deleted_at_idx" ON "task_erasures"("deleted_at") WHERE "deleted_at" IS NOT NULL AND "erased_at" IS NULL;

CREATE TABLE "erasures" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "scope" JSONB NOT NULL,
    "filter" JSONB NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "cursor" TEXT,
    "deleted" INTEGER NOT NULL DEFAULT 0,
    "selected_at" TIMESTAMPTZ(3),

    CONSTRAINT "erasures_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "erasures_open_idx" ON "erasures"("id") WHERE "selected_at" IS NULL;
CREATE INDEX "erasures_account_id_created_at_idx" ON "erasures"("account_id", "created_at");

-- Whoever ends a task that is to be deleted by itself, the time is written in the same transaction: that of its lifetime, but
-- only after its caller had time to get what was paid for. Other tasks don't even call the function.
CREATE FUNCTION "tasks_end_lifetime"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW."expires_at" := GREATEST(NEW."expires_at", now() + NEW."kept_after_end_ms" * interval '1 millisecond');
    INSERT INTO "task_erasures" ("task_id", "account_id", "due_at") VALUES (NEW."id", NEW."account_id", NEW."expires_at")
        ON CONFLICT ("task_id") DO UPDATE SET "due_at" = EXCLUDED."due_at";
    RETURN NEW;
END;
$$;
CREATE TRIGGER "tasks_end_lifetime" BEFORE UPDATE OF "status" ON "tasks"
    FOR EACH ROW WHEN (OLD."status" = 'pending' AND NEW."status" <> 'pending'
        AND (NEW."kept_after_end_ms" IS NOT NULL OR NEW."expires_at" IS NOT NULL))
    EXECUTE FUNCTION "tasks_end_lifetime"();

-- Its row ends with the task's.
CREATE FUNCTION "tasks_forget_erasure"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM "task_erasures" WHERE "task_id" = OLD."id";
    RETURN NULL;
END;
$$;
CREATE TRIGGER "tasks_forget_erasure" AFTER DELETE ON "tasks"
    FOR EACH ROW WHEN (OLD."deleted_at" IS NOT NULL OR OLD."expires_at" IS NOT NULL)
    EXECUTE FUNCTION "tasks_forget_erasure"();
