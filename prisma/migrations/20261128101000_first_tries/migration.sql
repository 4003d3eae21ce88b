-- Whether the first try of a call may insert its task: no equal request is being accepted at this moment, or has a task
-- that this one may be about. The lock of equal requests is held until the end of the transaction. plpgsql, because each
-- of its statements sees what was committed before that statement, and so everything that an earlier holder of the lock
-- has written; the statement that calls it would see only what was committed before itself.
--
-- A task of an equal request is one that this request gets instead
-- - if its last caller left without the outcome at most "attach_window_ms" ago,
-- - if it failed in the last minute and may have been charged,
-- - if its caller waits at another process than "here", which has yet to be asked whether it still does; not if "seen"
--   names it, because that process was asked. The process of a caller that gets only the task is asked for
--   "attach_window_ms", and so is that of one whose task was completed,
-- - if a retry made it, or attached to it, after this request arrived "age_ms" ago: then this is the try before it. For
--   a task that is not finished, "underway_ms" are added, for which this statement may have been on its way.
--
-- Each part has its own index and order: otherwise Postgres, expecting an early match, would scan all tasks when
-- thousands of equal requests do not match.
CREATE FUNCTION "first_try_may_insert"("request" BYTEA, "api_key" TEXT, "attach_window_ms" FLOAT8, "here" TEXT, "seen" TEXT[],
  "age_ms" FLOAT8, "underway_ms" FLOAT8) RETURNS BOOLEAN LANGUAGE plpgsql AS $$
DECLARE
  "window_began" TIMESTAMPTZ := now() - "attach_window_ms" * interval '1 millisecond';
  "arrived" TIMESTAMPTZ := now() - "age_ms" * interval '1 millisecond';
BEGIN
  IF NOT pg_try_advisory_xact_lock(hashtextextended("api_key" || ' ' || encode("request", 'hex'), 0)) THEN
    RETURN false;
  END IF;
  RETURN NOT EXISTS (
    (SELECT 1 FROM "tasks" WHERE "fingerprint" = "request" AND "api_key_id" = "api_key" AND "abandoned_at" > "window_began"
        AND "delivered_at" IS NULL AND "status" IN ('pending', 'completed')
      ORDER BY "abandoned_at" LIMIT 1)
    UNION ALL
    (SELECT 1 FROM "tasks" WHERE "fingerprint" = "request" AND "api_key_id" = "api_key" AND "status" = 'failed'
        AND "finished_at" > now() - interval '60 seconds'
        AND "calls"->-1->>'free' = 'false' AND COALESCE("calls"->-1->>'charged', 'maybe') <> 'no'
      ORDER BY "finished_at" LIMIT 1)
    UNION ALL
    (SELECT 1 FROM "tasks" WHERE "fingerprint" = "request" AND "api_key_id" = "api_key" AND "status" = 'pending'
        AND "waiter" < "here" AND (NOT "asynchronous" OR "created_at" > "window_began") AND "id" <> ALL ("seen")
      ORDER BY "waiter" LIMIT 1)
    UNION ALL
    (SELECT 1 FROM "tasks" WHERE "fingerprint" = "request" AND "api_key_id" = "api_key" AND "status" = 'pending'
        AND "waiter" > "here" AND (NOT "asynchronous" OR "created_at" > "window_began") AND "id" <> ALL ("seen")
      ORDER BY "waiter" LIMIT 1)
    UNION ALL
    (SELECT 1 FROM "tasks" WHERE "fingerprint" = "request" AND "api_key_id" = "api_key" AND "status" = 'completed'
        AND "finished_at" > "window_began" AND "waiter" <> "here" AND "abandoned_at" IS NULL AND "delivered_at" IS NULL
        AND "id" <> ALL ("seen")
      ORDER BY "finished_at" LIMIT 1)
    UNION ALL
    (SELECT 1 FROM "tasks" WHERE "fingerprint" = "request" AND "api_key_id" = "api_key" AND "attached_by" IS NOT NULL
        AND "created_at" > "arrived" - "underway_ms" * interval '1 millisecond'
        AND ("finished_at" IS NULL OR "created_at" > "arrived")
      ORDER BY "created_at" LIMIT 1));
END
$$;
