#!/bin/sh
# Makes .env from deploy/env.example, each of its own secrets filled with 256 random bits. Never touches an existing .env.
set -eu
umask 077
cd "$(dirname "$0")/.."
# These and no other: a vendor's key is given or left empty. A made-up one would send prompts to the vendor all the same.
SECRETS='SECRET_KEY POSTGRES_PASSWORD REDIS_PASSWORD S3_ACCESS_KEY_ID S3_SECRET_ACCESS_KEY'
if [ -e .env ]; then
  echo '.env is there already; nothing was changed.' >&2
  exit 1
fi
while IFS= read -r line; do
  value=
  for name in $SECRETS; do
    [ "$line" != "$name=" ] || value=$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')
  done
  printf '%s%s\n' "$line" "$value"
done < deploy/env.example > .env.new
mv .env.new .env
echo 'Made .env with random secrets. Keep a copy: without SECRET_KEY no API key works.'
