#!/bin/sh
# Makes .env from deploy/env.example, every empty value filled with 256 random bits. Never touches an existing .env.
set -eu
umask 077
cd "$(dirname "$0")/.."
if [ -e .env ]; then
  echo '.env is there already; nothing was changed.' >&2
  exit 1
fi
while IFS= read -r line; do
  case $line in
    '#'*) printf '%s\n' "$line" ;;
    *=) printf '%s%s\n' "$line" "$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')" ;;
    *) printf '%s\n' "$line" ;;
  esac
done < deploy/env.example > .env.new
mv .env.new .env
echo 'Made .env with random secrets. Keep a copy: without SECRET_KEY no API key works.'
