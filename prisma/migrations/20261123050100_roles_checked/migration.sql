-- Of the roles that the migration before this one allows.
ALTER TABLE "people" VALIDATE CONSTRAINT "people_role_check";
ALTER TABLE "sign_in_links" VALIDATE CONSTRAINT "sign_in_links_role_check";
