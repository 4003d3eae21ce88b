-- What is deleted stays as a row without what could be used or is private: the ledger, the usage and the audit log name it.
ALTER TABLE "accounts" ADD COLUMN "deleted_at" TIMESTAMPTZ(3);
ALTER TABLE "people" ADD COLUMN "deleted_at" TIMESTAMPTZ(3);
