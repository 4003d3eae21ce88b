-- Every call to a provider in the order they began (ProviderCall in libs/tasks/provider-call.ts).
ALTER TABLE "tasks" ADD COLUMN "calls" JSONB NOT NULL DEFAULT '[]';
-- Claims that were no try of the task: its provider was still working, or nobody could take it.
ALTER TABLE "tasks" ADD COLUMN "waits" INTEGER NOT NULL DEFAULT 0;

-- A call whose outcome is not known yet is known to tasks that are on their way just now.
UPDATE "tasks" SET "calls" = jsonb_build_array(jsonb_strip_nulls(jsonb_build_object(
    'n', "provider_starts", 'provider', "provider", 'key', '', 'model', "model", 'free', "provider" = 'sandbox',
    'startedAt', COALESCE("started_at", "created_at"), 'upstreamId', "provider_job_id", 'acceptedAt', "started_at")))
  WHERE "provider_call_open" AND "provider" IS NOT NULL;
