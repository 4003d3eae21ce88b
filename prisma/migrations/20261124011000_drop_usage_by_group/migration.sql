-- grouped_usage replaces it, and no release has it. A migration of its own, so that readers of usage_rollups don't wait while
-- grouped_usage is filled.
DROP TRIGGER "usage_by_group_added" ON "usage_rollups";
DROP TRIGGER "usage_by_group_changed" ON "usage_rollups";
DROP FUNCTION "usage_by_group"();
DROP TABLE "usage_by_group";
