#!/bin/sh
# Upgrades a running deployment of docker-compose.yml to the version in this folder, without a failed call:
#   git pull (or check out a version), then: sh deploy/upgrade.sh
# Also downgrades to the previous version, or restarts everything with changed settings. The steps, in this order; the
# three of APIs run for one API at a time:
#   1 build          the new image, while everything keeps running
#   2 migrate        the tables; the previous version keeps working with them
#   3 start-api      a new API next to the old ones; waits until it is healthy and reaches its dependencies
#   4 find-api       waits until the balancer sends it requests
#   5 stop-api       an old API leaves the balancer, finishes its calls (a chat may take 10 minutes), and is removed
#   6 start-workers  as many new workers as old ones; waits until they are healthy
#   7 drain-workers  the old ones finish their tasks, and are removed
# When a step fails or is interrupted, its new containers are removed and the old ones stay; workers that are already
# stopping continue to stop, and the next run waits for them. Settings: UPGRADE_WAIT_SECONDS (120), for each new container
# to become healthy. Postgres, Redis, the store and the balancer are not touched.
set -eu
cd "$(dirname "$0")/.."
WAIT=${UPGRADE_WAIT_SECONDS:-120}
# Containers that are never removed on failure: the old ones, and the new ones that have replaced some.
kept=
replaced=0

step() {
  echo "== $1: $2"
}

fail() {
  trap '' INT TERM HUP
  [ -z "$kept" ] || undo
  echo "Stopped: $*" >&2
  exit 1
}

# Removes containers of this run that have not replaced others. Before the first API is replaced, also resets the image's
# tag, so that scaling or restarting a container uses the running version.
undo() {
  extra=
  for id in $(containers api) $(containers worker); do
    case "$kept" in
      *"$id"*) ;;
      *) extra="$extra $id" ;;
    esac
  done
  # shellcheck disable=SC2086
  [ -z "$extra" ] || { echo "Removing$extra; each finishes its work in progress first." >&2 && remove $extra; }
  [ "$replaced" -gt 0 ] || docker tag "$old_image" "$image"
}

containers() {
  docker compose ps --all --quiet "$1"
}

count() {
  echo $#
}

# start SERVICE NUMBER: starts containers up to this number; prints the ids of the new ones, and fails without any.
start() {
  before=$(containers "$1")
  docker compose up --detach --no-deps --no-recreate --no-build --scale "$1=$2" "$1" >&2 || return 1
  started=1
  for id in $(containers "$1"); do
    case "$before" in
      *"$id"*) ;;
      *) echo "$id" && started=0 ;;
    esac
  done
  return "$started"
}

# The failing checks of a container's /readyz; empty when there are none.
failing() {
  docker exec "$1" node --input-type=module --eval '
    const { WORKER_HEALTH_PORT, PORT = "8080" } = process.env;
    const answer = await fetch(`http://127.0.0.1:${WORKER_HEALTH_PORT ?? PORT}/readyz`, {
      signal: AbortSignal.timeout(5_000),
    });
    const { reasons, dependencies } = await answer.json();
    const failing = Object.keys(dependencies).filter((name) => dependencies[name].state !== "ok");
    console.log([...new Set([...reasons, ...failing])].join(" "));'
}

# within COMMAND...: runs it once a second until it succeeds, for at most UPGRADE_WAIT_SECONDS.
within() {
  deadline=$(($(date +%s) + WAIT))
  until "$@"; do
    [ "$(date +%s)" -lt "$deadline" ] || return 1
    sleep 1
  done
}

is_healthy() {
  missing=
  state=$(docker inspect --format '{{.State.Status}} {{if .State.Health}}{{.State.Health.Status}}{{end}}' "$1")
  [ "$state" = 'running healthy' ] || return 1
  missing=$(failing "$1")
  [ -z "$missing" ]
}

# healthy ID: waits until the container is healthy and reaches its dependencies; otherwise prints what is wrong.
healthy() {
  ! within is_healthy "$1" || return 0
  echo "$1 is $state after $WAIT s${missing:+ and misses: $missing}. Its last lines:" >&2
  docker logs --tail 20 "$1" >&2 || true
  return 1
}

# How many APIs the balancer sends requests to.
balanced() {
  docker compose exec -T balancer wget -q -O - 'http://127.0.0.1:8405/metrics?scope=server&no-maint' |
    grep -c '^haproxy_server_status{proxy="api",.*state="UP"} 1$' || true
}

# is_balanced -ge|-le NUMBER
is_balanced() {
  [ "$(balanced)" "$1" "$2" ]
}

# Stops containers, each within the grace time that it was created with (stop_grace_period), and removes them.
remove() {
  docker stop "$@" > /dev/null
  docker rm "$@" > /dev/null
}

# Workers that are stopping since an interrupted run are not replaced; wait until they have finished their tasks.
for id in $(docker compose ps --quiet worker); do
  case " $(failing "$id") " in
    *' stopping '*)
      echo "Waiting until $id has finished its work in progress."
      docker wait "$id" > /dev/null
      ;;
  esac
done
docker compose rm --force api worker > /dev/null
old_apis=$(containers api)
old_workers=$(containers worker)
# Ids have no spaces, so lists are unquoted.
# shellcheck disable=SC2086
apis=$(count $old_apis)
# shellcheck disable=SC2086
workers=$(count $old_workers)
[ "$apis" -gt 0 ] || fail 'no API is running; start everything with: docker compose up --detach --build'
[ "$(balanced)" -gt 0 ] ||
  fail 'the balancer has no API, or no metrics yet. Once: docker compose up --detach --no-deps balancer'

# shellcheck disable=SC2086
set -- $old_apis
image=$(docker inspect --format '{{.Config.Image}}' "$1")
old_image=$(docker inspect --format '{{.Image}}' "$1")
kept="$old_apis $old_workers"
trap 'fail "interrupted; $replaced of $apis APIs are new, the old workers keep running."' INT TERM HUP

step build 'the new image'
docker compose build migrate || fail 'the image was not built; nothing was changed.'

step migrate 'the tables'
docker compose run --rm --no-deps migrate || fail 'the migration failed. The old version keeps running; run this again once the problem is fixed.'

for old in $old_apis; do
  serving=$(balanced)
  step start-api "$((replaced + 1)) of $apis"
  new=$(start api $((apis + 1))) || fail "no API could be started; $replaced of $apis are new, the old ones keep running."
  healthy "$new" || fail "the new API is not healthy and was removed; $replaced of $apis are new, the old ones keep running."
  step find-api "$new"
  within is_balanced -ge $((serving + 1)) ||
    fail "the balancer did not find the new API, which was removed; $replaced of $apis are new, the old ones keep running."
  step stop-api "$old"
  replaced=$((replaced + 1))
  kept="$new ${kept%%"$old"*}${kept#*"$old"}"
  remove "$old"
  within is_balanced -le "$serving" || fail "the balancer still routes to $old, which was removed."
done

if [ "$workers" -gt 0 ]; then
  step start-workers "$workers beside $workers"
  new=$(start worker $((2 * workers))) || fail 'no worker could be started; the APIs are new, the old workers keep running.'
  for id in $new; do
    healthy "$id" ||
      fail 'a new worker is not healthy and all new ones were removed; the APIs are new, the old workers keep running.'
  done
  step drain-workers "$workers"
  # Nothing is left to undo.
  trap 'echo "The old workers stop when they have finished. Remove them then with this command, or with the next upgrade:
  docker compose rm --force worker" >&2; exit 1' INT TERM HUP
  # shellcheck disable=SC2086
  remove $old_workers
fi
echo "Done: $apis APIs and $workers workers were replaced."
