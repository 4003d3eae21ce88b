-- For the retention, which takes the oldest rows of all accounts.
CREATE INDEX "chat_usage_created_at_idx" ON "chat_usage"("created_at");
