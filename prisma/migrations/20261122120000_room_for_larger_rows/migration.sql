-- Rows grow to 1.4 kB while their tasks run, and those of a page run at the same time. At 70 a page took in more of them than
-- it can hold when they have grown, so what was written of one often moved to another page and into every index. At 50 four
-- rows share a page, with room for two more versions. Pages that are full already stay as they are.
ALTER TABLE "tasks" SET (fillfactor = 50);
