-- When somebody last used the console, to the minute; sessions, which know it too, are removed when they end. Not called
-- as it is there: versions that still run name that column alone when they join the two.
ALTER TABLE "people" ADD COLUMN "seen_at" TIMESTAMPTZ(3);
UPDATE "people" SET "seen_at" = (SELECT max("last_seen_at") FROM "sessions" WHERE "person_id" = "people"."id");
