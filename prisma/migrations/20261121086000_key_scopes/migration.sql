-- What a key may be used for: images | tasks | chat. Empty means everything, as before.
ALTER TABLE "api_keys" ADD COLUMN "scopes" TEXT[] DEFAULT ARRAY[]::TEXT[];
