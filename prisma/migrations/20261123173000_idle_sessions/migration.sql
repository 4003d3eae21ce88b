-- Sessions that nobody used for half a day, which workers remove.
CREATE INDEX CONCURRENTLY "sessions_last_seen_at_idx" ON "sessions"("last_seen_at");
