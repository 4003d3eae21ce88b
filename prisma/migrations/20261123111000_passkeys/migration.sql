-- Passkeys: what somebody signs in with instead of a password and a code. The version before offers none.
CREATE TABLE "passkeys" (
    "id" TEXT NOT NULL,
    "person_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "credential_id" TEXT NOT NULL,
    "public_key" BYTEA NOT NULL,
    "counter" BIGINT NOT NULL,
    "transports" TEXT[] NOT NULL,
    "synced" BOOLEAN NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_used_at" TIMESTAMPTZ(3),

    CONSTRAINT "passkeys_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "passkeys_person_id_fkey" FOREIGN KEY ("person_id") REFERENCES "people"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "passkeys_credential_id_key" ON "passkeys"("credential_id");
CREATE INDEX "passkeys_person_id_idx" ON "passkeys"("person_id");

-- Challenges that were answered: none is taken twice. Workers remove them once their time is over.
CREATE TABLE "used_passkey_challenges" (
    "challenge" TEXT NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "used_passkey_challenges_pkey" PRIMARY KEY ("challenge")
);
CREATE INDEX "used_passkey_challenges_expires_at_idx" ON "used_passkey_challenges"("expires_at");
