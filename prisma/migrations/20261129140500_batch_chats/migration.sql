-- How a line of a batch returns its images. Lines that a process of the version before submits have none.
ALTER TABLE "batch_lines" ADD COLUMN "format" TEXT;
