-- Which provider holds a response, for as long as OpenAI keeps one.
CREATE TABLE "stored_responses" (
    "account_id" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "api_key_id" TEXT NOT NULL,
    "model" TEXT NOT NULL,
    "provider" TEXT NOT NULL,
    "provider_key" TEXT,
    "tokens" INTEGER NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "stored_responses_pkey" PRIMARY KEY ("account_id", "id")
);
CREATE INDEX "stored_responses_expires_at_idx" ON "stored_responses"("expires_at");
