-- A test event tells of no task.
ALTER TABLE "webhook_deliveries" ALTER COLUMN "task_id" DROP NOT NULL;
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_task_check"
    CHECK (("task_id" IS NULL) = ("event" = 'webhook.test')) NOT VALID;
-- How an endpoint has been doing lately, and its own deliveries.
CREATE INDEX "webhook_deliveries_endpoint_id_created_at_id_idx" ON "webhook_deliveries"("endpoint_id", "created_at" DESC, "id" DESC);
