-- When the OpenID Connect provider vouched for a person's address; NULL = nobody proved that the mailbox is theirs.
ALTER TABLE "people" ADD COLUMN "email_verified_at" TIMESTAMPTZ(3);

-- An address is unique within an account. Across accounts it was not theirs to reserve: whoever came first kept its owner out.
CREATE UNIQUE INDEX "people_account_id_email_key" ON "people"("account_id", "email");
CREATE INDEX "people_email_idx" ON "people"("email");
DROP INDEX "people_email_key";
DROP INDEX "people_account_id_idx";

-- Addresses have one spelling (NFKC, lower case), which requests are brought to before they are looked up.
UPDATE "people" SET "email" = lower(normalize("email", NFKC))
WHERE "email" ~ '[^\x01-\x7f]' AND NOT EXISTS (
    SELECT 1 FROM "people" AS other
    WHERE other."id" <> "people"."id" AND other."account_id" = "people"."account_id"
        AND other."email" = lower(normalize("people"."email", NFKC)));
UPDATE "sign_in_links" SET "email" = lower(normalize("email", NFKC)) WHERE "email" ~ '[^\x01-\x7f]';
