-- One user in several accounts: a person may sign in with what another row holds. Constant time: no row is rewritten. The version
-- before knows nothing of it: people who are linked have no password there, and their sessions work.
ALTER TABLE "people" ADD COLUMN "signs_in_as" TEXT;
ALTER TABLE "people" ADD CONSTRAINT "people_signs_in_as_fkey" FOREIGN KEY ("signs_in_as") REFERENCES "people"("id") ON DELETE RESTRICT ON UPDATE CASCADE NOT VALID;

-- What secrets, recovery codes and passkeys were made for, so that they can go over to another person; null = the person's id.
ALTER TABLE "people" ADD COLUMN "user_handle" TEXT;

-- Whether a link for a new password is for all accounts of its user; those of an admin are for the admin's account alone.
ALTER TABLE "sign_in_links" ADD COLUMN "all_accounts" BOOLEAN NOT NULL DEFAULT false;

-- In the database, because the version before gives linked people a password or an identity of their own as well: with that
-- they must not come to the other accounts of the user.
CREATE FUNCTION "people_signs_in_as"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.password_hash IS NOT NULL OR NEW.openid_subject IS NOT NULL THEN
    NEW.signs_in_as := NULL;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER "people_signs_in_as" BEFORE UPDATE OF "password_hash", "openid_subject" ON "people"
  FOR EACH ROW EXECUTE FUNCTION "people_signs_in_as"();
