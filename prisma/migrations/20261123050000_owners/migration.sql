-- Owners are the admins whom other admins cannot change. `role` says what the version before reads: an owner is an admin there.
ALTER TABLE "people" ADD COLUMN "owner" BOOLEAN NOT NULL DEFAULT false;

-- The first admin of each account is its owner: one who can sign in, the founder before others. An account has few people.
DO $$
BEGIN
  UPDATE people SET owner = true WHERE id IN (
    SELECT DISTINCT ON (account_id) id FROM people WHERE role = 'admin'
    ORDER BY account_id, (disabled_at IS NULL) DESC, founder DESC, created_at, id);
END $$;

-- In the database, because the version before makes and changes admins as well while instances are replaced.
CREATE FUNCTION "people_owner"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.role <> 'admin' THEN
    NEW.owner := false;
  ELSIF NOT NEW.owner AND NEW.disabled_at IS NULL AND NOT EXISTS (
    SELECT 1 FROM people
    WHERE account_id = NEW.account_id AND id <> NEW.id AND owner AND disabled_at IS NULL) THEN
    NEW.owner := true;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER "people_owner" BEFORE INSERT OR UPDATE OF "role" ON "people"
  FOR EACH ROW EXECUTE FUNCTION "people_owner"();

-- Viewers and billing users: the version before reads them as members.
ALTER TABLE "people" DROP CONSTRAINT "people_role_check";
ALTER TABLE "people" ADD CONSTRAINT "people_role_check" CHECK (role IN ('admin', 'member', 'viewer', 'billing')) NOT VALID;
ALTER TABLE "sign_in_links" DROP CONSTRAINT "sign_in_links_role_check";
ALTER TABLE "sign_in_links"
  ADD CONSTRAINT "sign_in_links_role_check" CHECK (role IN ('admin', 'member', 'viewer', 'billing')) NOT VALID;
