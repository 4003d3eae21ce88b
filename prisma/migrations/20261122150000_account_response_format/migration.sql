-- What calls of an account are answered with that name no response format, where their key has no default of its own; NULL = as
-- the deployment says.
ALTER TABLE "accounts" ADD COLUMN "default_response_format" TEXT;
