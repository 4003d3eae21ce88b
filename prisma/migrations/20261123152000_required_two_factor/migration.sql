-- Accounts whose members may only work once they have an authenticator app. Constant time: no row is rewritten. The version
-- before asks nobody for one.
ALTER TABLE "accounts" ADD COLUMN "require_two_factor" BOOLEAN NOT NULL DEFAULT false;
