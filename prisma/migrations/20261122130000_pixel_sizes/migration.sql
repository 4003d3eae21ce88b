-- Whether a key's generations take sizes in pixels. The deployment says so now unless the key does; until here no key had to
-- say no, since that was the default.
ALTER TABLE "api_keys" ALTER COLUMN "allow_pixel_size" DROP NOT NULL, ALTER COLUMN "allow_pixel_size" DROP DEFAULT;
UPDATE "api_keys" SET "allow_pixel_size" = NULL WHERE NOT "allow_pixel_size";
