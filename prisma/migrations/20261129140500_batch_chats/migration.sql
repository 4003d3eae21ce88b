-- How a line of a batch returns its images. Lines that a process of the version before submits have none.
ALTER TABLE "batch_lines" ADD COLUMN "format" TEXT;
-- What its lines have cost so far, and the user who started it in the console.
ALTER TABLE "batches" ADD COLUMN "spent_micros" BIGINT NOT NULL DEFAULT 0, ADD COLUMN "ordered_by" TEXT;
