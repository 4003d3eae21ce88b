#!/bin/sh
# Replaces `docker` where no engine runs. Knows only what deploy/upgrade.sh calls; anything else fails. Under their
# names, it also replaces `date` and `sleep`: time passes only in $DOCKER_STATE/clock. A file in
# $DOCKER_STATE/containers is a container: its service, version, health, and what it misses. Each call is a line of
# $DOCKER_STATE/calls, after the numbers of healthy APIs and of workers at its end; $DOCKER_STATE/image is the image
# behind our image's name. FAULT_* define what goes wrong.
cd "$DOCKER_STATE" || exit 1

pass() { echo $(($(cat clock) + $1)) > clock; }
case ${0##*/} in
  date) exec cat clock ;;
  sleep) pass "$1" && exit ;;
esac

# each FUNCTION: calls it for every container, with the content of its file in variables.
each() {
  for file in containers/*; do
    [ -e "$file" ] || continue
    id=${file#containers/}
    read -r service version health missing < "$file"
    "$@"
  done
}
forget() { [ "$health" != stopped ] || rm "$file"; }
name_of() { [ "$service" != "$1" ] || echo "$id"; }
served() {
  [ "$service $health" = 'api healthy' ] || return 0
  [ "$version ${FAULT_EXPORTER-}" = 'new blind' ] || echo "haproxy_server_status{proxy=\"api\",server=\"$id\",state=\"UP\"} 1"
}
tally() {
  [ "$service $health" != 'api healthy' ] || apis=$((apis + 1))
  [ "$service" != worker ] || workers=$((workers + 1))
}

answer() {
  command=$1
  shift
  for last; do :; done
  case $command in
    compose) compose "$@" ;;
    inspect) inspect "$@" ;;
    tag) echo "$1" > image ;;
    exec) read -r service version health missing < "containers/$1" && echo "$missing" ;;
    logs) echo "last words of $last" ;;
    stop) if [ "${FAULT_INTERRUPT-}" = "${1%%-*}s" ] && ! is_stopping "$1"; then interrupt "$@"; else stopped "$@"; fi ;;
    wait) stopped "$@" ;;
    rm) for id; do grep -q ' stopped$' "containers/$id" && rm "containers/$id" || return 1; done ;;
    *) return 1 ;;
  esac
}

is_stopping() { grep -q ' stopping$' "containers/$1"; }
stopped() { for id; do read -r service version health missing < "containers/$id" && echo "$service $version stopped" > "containers/$id"; done; }

# FAULT_INTERRUPT: interrupts the script while it waits for a new container of that service, or while it stops old
# `apis` or the old `workers`, which continue to stop. FAULT_SLOW: seconds that inspecting a new container takes.
interrupt() {
  for id; do
    read -r service version health missing < "containers/$id" && echo "$service $version $health stopping" > "containers/$id"
  done
  kill -TERM "$(cat pid)"
}
inspect() {
  read -r service version health missing < "containers/$last"
  case $2 in
    '{{.Config.Image}}') echo darkroom:1.0.0 ;;
    '{{.Image}}') echo "image-$version" ;;
    *)
      pass "${FAULT_SLOW-0}"
      [ "$service $version" != "${FAULT_INTERRUPT-} new" ] || kill -TERM "$(cat pid)"
      echo "running $health"
      ;;
  esac
}

compose() {
  case $1 in
    ps) each name_of "$last" ;;
    rm) each forget ;;
    build) [ "${FAULT_BUILD-0}" = 0 ] && echo image-new > image ;;
    run) return "${FAULT_MIGRATE-0}" ;;
    exec) [ "${FAULT_EXPORTER-}" != missing ] && each served ;;
    up) up "${7#*=}" ;;
    *) return 1 ;;
  esac
}

# Starts containers up to this number; from the FAULT_FROM-th new one on, those of the service FAULT_SERVICE are in
# FAULT_STATE.
up() {
  have=$(each name_of "$last" | wc -l)
  while [ "$have" -lt "$1" ]; do
    have=$((have + 1))
    made=$(($(cat made) + 1))
    echo "$made" > made
    state=healthy
    [ "$last" != "${FAULT_SERVICE-}" ] || [ "$made" -lt "${FAULT_FROM-1}" ] || state=$FAULT_STATE
    echo "$last new $state" > "containers/$last-new-$made"
  done
}

words="$*"
answer "$@"
code=$?
apis=0
workers=0
each tally
echo "$apis $workers $words" | tr '\n' ' ' >> calls
echo >> calls
exit "$code"
