-- Who takes care of a firing alert, and since when: it is not repeated any more.
ALTER TABLE "alert_events" ADD COLUMN "acknowledged_at" TIMESTAMPTZ(3), ADD COLUMN "acknowledged_by" TEXT;
