-- When the user of a session last confirmed the password in it; null: not since the sign-in.
ALTER TABLE "sessions" ADD COLUMN "proven_at" TIMESTAMPTZ(3);
