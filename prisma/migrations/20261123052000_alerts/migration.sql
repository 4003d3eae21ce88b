-- Where alerts are sent: endpoints that are told of no task, so the same line, attempts and log serve both. Constant time.
ALTER TABLE "webhook_endpoints" ADD COLUMN "channel" TEXT;
-- What is told where it is of no task. The version before reads neither column, and writes none.
ALTER TABLE "webhook_deliveries" ADD COLUMN "message" JSONB;
ALTER TABLE "webhook_deliveries" DROP CONSTRAINT "webhook_deliveries_task_check";
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_task_check"
    CHECK (("task_id" IS NULL) = ("event" = 'webhook.test' OR "message" IS NOT NULL)) NOT VALID;

CREATE TABLE "alert_rules" (
    "account_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "enabled" BOOLEAN NOT NULL,
    "thresholds" INTEGER[] NOT NULL,
    "window_minutes" INTEGER NOT NULL,
    "min_tasks" INTEGER NOT NULL,
    "hold_minutes" INTEGER NOT NULL,
    "repeat_hours" INTEGER NOT NULL,
    "channel_ids" TEXT[] NOT NULL,
    -- Whoever moves it forward evaluates the rule: one worker in each interval.
    "evaluated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "alert_rules_pkey" PRIMARY KEY ("account_id", "kind"),
    CONSTRAINT "alert_rules_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE TABLE "alert_events" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "level" INTEGER NOT NULL,
    "title" TEXT NOT NULL,
    "text" TEXT NOT NULL,
    "path" TEXT NOT NULL,
    "started_at" TIMESTAMPTZ(3) NOT NULL,
    "fired_at" TIMESTAMPTZ(3),
    "notified_at" TIMESTAMPTZ(3),
    "clear_since" TIMESTAMPTZ(3),
    "clear_minutes" INTEGER NOT NULL,
    "resolved_at" TIMESTAMPTZ(3),
    -- Fence: each change names the version that it was decided on.
    "version" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "alert_events_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "alert_events_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "alert_events_state_check" CHECK ("state" IN ('pending', 'firing', 'resolved')),
    CONSTRAINT "alert_events_resolved_check" CHECK (("state" = 'resolved') = ("resolved_at" IS NOT NULL))
);
CREATE INDEX "alert_events_account_id_id_idx" ON "alert_events"("account_id", "id" DESC);
-- One alert of a subject is open at a time: of two workers that see it begin, one writes it.
CREATE UNIQUE INDEX "alert_events_open_key" ON "alert_events"("account_id", "kind", "subject") WHERE "resolved_at" IS NULL;
