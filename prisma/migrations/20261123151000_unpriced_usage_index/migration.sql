-- What the spend of keys and accounts leaves out: few rows, or none, among the days of all keys.
CREATE INDEX CONCURRENTLY "usage_unpriced_idx" ON "usage_by_group"("account_id", "time") WHERE "step" = 'day' AND "dimension" = 'key' AND "currency" = 'XXX';
