-- Rows have grown, and those of one page are at work at the same time: room for one more version of each.
ALTER TABLE "tasks" SET (fillfactor = 70);
