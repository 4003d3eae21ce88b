-- The trace that a task was accepted in (W3C traceparent), so that its attempts and webhooks belong to it wherever they run.
-- Null where nothing was traced. No index names it.
ALTER TABLE "tasks" ADD COLUMN "trace_parent" TEXT;
