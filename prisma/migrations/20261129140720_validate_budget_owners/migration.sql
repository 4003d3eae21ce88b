-- Reads the whole table, and blocks neither reads nor writes while it does.
ALTER TABLE "budgets" VALIDATE CONSTRAINT "budgets_owner_check";
