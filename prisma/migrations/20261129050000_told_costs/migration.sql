-- Whether an answer has told what the task cost: whoever adds costs up counts each once.
ALTER TABLE "tasks" ADD COLUMN "cost_told" BOOLEAN NOT NULL DEFAULT false;
