-- Attempts in a row that an endpoint let time out, up to the number that makes it slow.
ALTER TABLE "webhook_endpoints" ADD COLUMN "timeouts" INTEGER NOT NULL DEFAULT 0;
-- The line of each receiver of each account, which the sweep walks in place of all that is due.
CREATE INDEX "webhook_deliveries_line_idx" ON "webhook_deliveries"("account_id", (COALESCE("endpoint_id", '')), "next_try_at")
    WHERE "state" = 'pending';
DROP INDEX "webhook_deliveries_due_idx";
-- What is being sent, which every claim counts for its account.
CREATE INDEX "webhook_deliveries_leased_idx" ON "webhook_deliveries"("account_id") WHERE "state" = 'pending' AND "lease_until" IS NOT NULL;
-- What an account keeps here, which every upload adds up.
CREATE INDEX "uploads_account_id_expires_at_idx" ON "uploads"("account_id", "expires_at");
