-- The bytes of an account's uploads, which each upload adds up, from the index alone.
CREATE INDEX CONCURRENTLY "uploads_account_id_expires_at_bytes_idx" ON "uploads"("account_id", "expires_at") INCLUDE ("bytes");
