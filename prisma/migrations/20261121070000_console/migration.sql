-- Who may use the console. An account owns its people as it owns its keys.
CREATE TABLE "people" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "email" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "password_hash" TEXT,
    "role" TEXT NOT NULL,
    "founder" BOOLEAN NOT NULL DEFAULT false,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
    "disabled_at" TIMESTAMPTZ(3),

    CONSTRAINT "people_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "people_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id"),
    CONSTRAINT "people_role_check" CHECK ("role" IN ('admin', 'member')),
    CONSTRAINT "people_email_check" CHECK ("email" = lower("email"))
);
CREATE UNIQUE INDEX "people_email_key" ON "people"("email");
CREATE INDEX "people_account_id_idx" ON "people"("account_id");
-- However many claim to be the first admin at once, the index lets one in.
CREATE UNIQUE INDEX "people_founder_key" ON "people"("founder") WHERE "founder";

CREATE TABLE "sessions" (
    "id" TEXT NOT NULL,
    "person_id" TEXT NOT NULL,
    "token_hash" BYTEA NOT NULL,
    "user_agent" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
    "last_seen_at" TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "sessions_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "sessions_person_id_fkey" FOREIGN KEY ("person_id") REFERENCES "people"("id") ON DELETE CASCADE
);
CREATE UNIQUE INDEX "sessions_token_hash_key" ON "sessions"("token_hash");
CREATE INDEX "sessions_person_id_idx" ON "sessions"("person_id");
CREATE INDEX "sessions_expires_at_idx" ON "sessions"("expires_at");

-- Links that work once: to become the first admin, to join, to choose a new password.
CREATE TABLE "sign_in_links" (
    "id" TEXT NOT NULL,
    "token_hash" BYTEA NOT NULL,
    "purpose" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "email" TEXT,
    "role" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "used_at" TIMESTAMPTZ(3),

    CONSTRAINT "sign_in_links_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "sign_in_links_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id"),
    CONSTRAINT "sign_in_links_purpose_check" CHECK ("purpose" IN ('first_admin', 'invite', 'password')),
    CONSTRAINT "sign_in_links_role_check" CHECK ("role" IN ('admin', 'member'))
);
CREATE UNIQUE INDEX "sign_in_links_token_hash_key" ON "sign_in_links"("token_hash");

-- Who did what. Only ever added to; details hold no secrets.
CREATE TABLE "audit_log" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "person_id" TEXT,
    "action" TEXT NOT NULL,
    "target" TEXT,
    "details" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT now(),

    CONSTRAINT "audit_log_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "audit_log_account_id_id_idx" ON "audit_log"("account_id", "id" DESC);

-- When a key was last used, to the minute.
ALTER TABLE "api_keys" ADD COLUMN "last_used_at" TIMESTAMPTZ(3);
-- Keys of the service's own, such as the console's; nobody holds a secret to them.
ALTER TABLE "api_keys" ADD COLUMN "hidden" BOOLEAN NOT NULL DEFAULT false;
CREATE UNIQUE INDEX "api_keys_hidden_key" ON "api_keys"("account_id", "name") WHERE "hidden";
-- A key's spend is asked for whenever keys are listed.
CREATE INDEX "charges_api_key_id_idx" ON "charges"("api_key_id");
