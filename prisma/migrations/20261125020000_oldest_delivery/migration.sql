-- The oldest delivery that waits, of all accounts: an alert tells of it, however many wait.
CREATE INDEX CONCURRENTLY "webhook_deliveries_oldest_idx" ON "webhook_deliveries"("next_try_at") WHERE "state" = 'pending';
