-- Providers that get no new calls. A row is there for as long as its provider is drained.
CREATE TABLE "provider_switches" (
    "provider" TEXT NOT NULL,
    "drained_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "reason" TEXT,

    CONSTRAINT "provider_switches_pkey" PRIMARY KEY ("provider")
);
