#!/bin/sh
# Creates .env from deploy/env.example, and fills in each of its secrets with 256 random bits. Never changes an existing .env.
set -eu
umask 077
cd "$(dirname "$0")/.."
# Only these: a provider's key must be real or empty. A random one would still send prompts to the provider.
SECRETS='SECRET_KEY POSTGRES_PASSWORD REDIS_PASSWORD S3_ACCESS_KEY_ID S3_SECRET_ACCESS_KEY'
if [ -e .env ]; then
  echo '.env already exists; nothing was changed.' >&2
  exit 1
fi
cr=$(printf '\r')
while IFS= read -r line; do
  # A clone on Windows may have added it.
  line=${line%"$cr"}
  value=
  for name in $SECRETS; do
    [ "$line" != "$name=" ] || value=$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')
  done
  printf '%s%s\n' "$line" "$value"
done < deploy/env.example > .env.new
mv .env.new .env
echo 'Created .env with random secrets. Keep a copy: without SECRET_KEY, no API key works.'
