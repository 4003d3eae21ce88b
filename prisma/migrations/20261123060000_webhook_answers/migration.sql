-- The beginning of what a receiver answered, for those who look why it refuses. Constant time; the version before writes none.
ALTER TABLE "webhook_attempts" ADD COLUMN "answer" TEXT;
