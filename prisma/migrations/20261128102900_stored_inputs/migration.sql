-- Reference images sent with requests count in the quota of their account, like uploads, while they are stored.
CREATE TABLE "stored_inputs" (
    "task_id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "bytes" BIGINT NOT NULL,
    CONSTRAINT "stored_inputs_pkey" PRIMARY KEY ("task_id")
);
CREATE INDEX "stored_inputs_account_id_idx" ON "stored_inputs"("account_id") INCLUDE ("bytes");

-- Width times height as the file declares them; NULL = unknown, or stored by an older version.
ALTER TABLE "uploads" ADD COLUMN "pixels" INTEGER;
