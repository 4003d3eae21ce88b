-- For the account whose chats had the end user that a provider warns about.
CREATE INDEX CONCURRENTLY "chat_usage_end_user_idx" ON "chat_usage"("account_id", "end_user") WHERE "end_user" IS NOT NULL;
