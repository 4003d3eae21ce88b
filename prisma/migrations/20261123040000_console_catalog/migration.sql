-- What the console adds to models.yaml: one row for each state it had, so that changes can be undone.
CREATE TABLE "catalog_revisions" (
    "number" INTEGER NOT NULL,
    -- JSON, not JSONB: models and routes keep their order.
    "entries" JSON NOT NULL,
    "key_ids" TEXT[],
    "action" TEXT NOT NULL,
    "target" TEXT NOT NULL,
    "author" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "catalog_revisions_pkey" PRIMARY KEY ("number")
);

-- Keys of the providers that it names, sealed.
CREATE TABLE "provider_keys" (
    "id" TEXT NOT NULL,
    "key_id" TEXT NOT NULL,
    "sealed" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "provider_keys_pkey" PRIMARY KEY ("id")
);
