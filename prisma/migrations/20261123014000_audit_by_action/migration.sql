-- Pages of one kind of audit entry; entries are written rarely.
CREATE INDEX CONCURRENTLY "audit_log_account_id_action_id_idx" ON "audit_log"("account_id", "action", "id" DESC);
