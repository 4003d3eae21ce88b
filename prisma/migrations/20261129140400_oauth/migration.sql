-- Clients that their users authorize with the console's sign-in: each has a key, which nobody holds a secret to, and
-- tokens that expire.
ALTER TABLE "api_keys" ADD COLUMN "oauth_client" TEXT;

CREATE TABLE "oauth_tokens" (
    "hash" BYTEA NOT NULL,
    "secret_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "key_id" TEXT NOT NULL,
    "client_hash" BYTEA NOT NULL,
    "redirect_uri" TEXT,
    "code_challenge" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "used_at" TIMESTAMPTZ(3),

    CONSTRAINT "oauth_tokens_pkey" PRIMARY KEY ("hash"),
    CONSTRAINT "oauth_tokens_key_id_fkey" FOREIGN KEY ("key_id") REFERENCES "api_keys"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "oauth_tokens_key_id_idx" ON "oauth_tokens"("key_id");
CREATE INDEX "oauth_tokens_expires_at_idx" ON "oauth_tokens"("expires_at");
