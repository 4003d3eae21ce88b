-- What chats have used, one row per call that reached a provider. Its key is the request's id, so that a batch that is
-- written twice counts once. Tokens are null where the provider did not tell them.
CREATE TABLE "chat_usage" (
    "request_id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "api_key_id" TEXT NOT NULL,
    "model" TEXT NOT NULL,
    "provider" TEXT NOT NULL,
    "provider_key" TEXT,
    "provider_model" TEXT NOT NULL,
    "streamed" BOOLEAN NOT NULL,
    "status" INTEGER NOT NULL,
    "outcome" TEXT NOT NULL,
    "input_tokens" INTEGER,
    "output_tokens" INTEGER,
    "cached_tokens" INTEGER,
    "first_byte_ms" INTEGER NOT NULL,
    "duration_ms" INTEGER NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "chat_usage_pkey" PRIMARY KEY ("request_id")
);

CREATE INDEX "chat_usage_account_id_created_at_idx" ON "chat_usage"("account_id", "created_at" DESC);
