-- The key that a rotation made in place of this one. Until it ends, the old key counts with the new one as one key.
ALTER TABLE "api_keys" ADD COLUMN "replaced_by" TEXT;
