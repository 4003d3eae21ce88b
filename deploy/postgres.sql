-- Run once by the image of Postgres, on an empty volume: Darkroom's role owns its database and is no superuser.
-- The superuser connects from within the container only: docker compose exec postgres psql
ALTER ROLE postgres PASSWORD NULL;
\getenv password POSTGRES_PASSWORD
CREATE ROLE darkroom LOGIN PASSWORD :'password';
CREATE DATABASE darkroom OWNER darkroom;
