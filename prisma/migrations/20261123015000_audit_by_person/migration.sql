-- Pages of what one person did.
CREATE INDEX CONCURRENTLY "audit_log_account_id_person_id_id_idx" ON "audit_log"("account_id", "person_id", "id" DESC);
