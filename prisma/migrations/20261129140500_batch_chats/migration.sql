-- How a line of a batch returns its images: lines that a process of the version before submits have none. And until when a
-- process has the response of a chat that it passed on.
ALTER TABLE "batch_lines" ADD COLUMN "format" TEXT, ADD COLUMN "leased_until" TIMESTAMPTZ(3);
-- What its lines have cost so far, and the user who started it in the console.
ALTER TABLE "batches" ADD COLUMN "spent_micros" BIGINT NOT NULL DEFAULT 0, ADD COLUMN "ordered_by" TEXT;
