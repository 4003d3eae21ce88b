-- Alerts of the kinds that members may read, when an account has few of them.
CREATE INDEX CONCURRENTLY "alert_events_account_id_kind_id_idx" ON "alert_events"("account_id", "kind", "id" DESC);
