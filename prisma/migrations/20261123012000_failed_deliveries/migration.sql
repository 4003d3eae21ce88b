-- Lists of deliveries that failed, which are rare in a long history. Pending ones have indexes of their own.
CREATE INDEX CONCURRENTLY "webhook_deliveries_failed_idx" ON "webhook_deliveries"("account_id", "created_at" DESC, "id" DESC) WHERE "state" = 'failed';
