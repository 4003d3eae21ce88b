-- Who ordered a task in the console, and whether its images are kept past their retention. Constant time: no row is rewritten.
ALTER TABLE "tasks" ADD COLUMN "ordered_by" TEXT;
ALTER TABLE "tasks" ADD COLUMN "favorited_at" TIMESTAMPTZ(3);
