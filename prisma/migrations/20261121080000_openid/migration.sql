-- Who somebody is at the OpenID Connect provider. One identity belongs to one person, and a person has one at most.
ALTER TABLE "people" ADD COLUMN "openid_issuer" TEXT;
ALTER TABLE "people" ADD COLUMN "openid_subject" TEXT;
ALTER TABLE "people" ADD CONSTRAINT "people_openid_check" CHECK (("openid_issuer" IS NULL) = ("openid_subject" IS NULL));
CREATE UNIQUE INDEX "people_openid_key" ON "people"("openid_issuer", "openid_subject");
-- Links and sessions that are over are removed by their end.
CREATE INDEX "sign_in_links_expires_at_idx" ON "sign_in_links"("expires_at");
