-- Since when every attempt to deliver to an endpoint has failed.
ALTER TABLE "webhook_endpoints" ADD COLUMN "failing_since" TIMESTAMPTZ(3);
