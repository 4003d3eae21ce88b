-- The accounts between which one user switches.
CREATE INDEX CONCURRENTLY "people_signs_in_as_idx" ON "people"("signs_in_as");
