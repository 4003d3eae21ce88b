-- Calls of the API that were refused before there was a task, one row per key, code and minute.
CREATE TABLE "refused_calls" (
  "minute" TIMESTAMPTZ(3) NOT NULL,
  "account_id" TEXT NOT NULL,
  "key_id" TEXT NOT NULL,
  "code" TEXT NOT NULL,
  "status" INTEGER NOT NULL,
  "count" INTEGER NOT NULL,
  CONSTRAINT "refused_calls_pkey" PRIMARY KEY ("minute", "account_id", "key_id", "code", "status")
);
CREATE INDEX "refused_calls_account_id_minute_idx" ON "refused_calls"("account_id", "minute");
