-- Which SECRET_KEY a hash was made with, so that it is known when the key before can go. Rows of earlier versions learn it on
-- their next use.
ALTER TABLE "api_keys" ADD COLUMN "secret_id" TEXT;
ALTER TABLE "sessions" ADD COLUMN "secret_id" TEXT;
ALTER TABLE "sign_in_links" ADD COLUMN "secret_id" TEXT;
