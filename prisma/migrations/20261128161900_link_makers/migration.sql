-- Who made a link in the console: it works for as long as they may make one.
ALTER TABLE "sign_in_links" ADD COLUMN "made_by" TEXT;
