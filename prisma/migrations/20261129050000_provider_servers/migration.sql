-- Which of its provider's servers holds a response. Older processes write none, which means the first server.
ALTER TABLE "stored_responses" ADD COLUMN "provider_server" TEXT;
-- The only region that may serve a key's requests; null: any.
ALTER TABLE "api_keys" ADD COLUMN "region" TEXT;
