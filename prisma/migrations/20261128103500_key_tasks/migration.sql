-- Which tasks a key may see and cancel: all that its user may see (as before, where no member made it), or its own.
ALTER TABLE "api_keys" ADD COLUMN "tasks" TEXT NOT NULL DEFAULT 'all';
