import { RedisScript } from '#redis/redis-script.js';
import { STARTS_KEPT } from './call-permit.js';
import { CHAT_LATE_MS, CHAT_RETRY_MS, LINE, LINE_PARTS, SERVER_PARTS } from './provider-line.js';

/** Longest pause of a provider or key for which the provider named no time, in ms. */
const MAX_PAUSE_MS = 60_000;
/** The window of `starts_per_minute`, in ms. */
const WINDOW_MS = 60_000;
/** The state of an unused provider expires after a day; no slot and no pause lasts longer. */
const KEEP_MS = 86_400_000;
/** When to ask again, in ms, if it is unknown when a slot becomes free or how a probe ends. */
const ASK_AGAIN_MS = 1_000;

/** Ends the name of a key's field that holds for images alone; no name of a key has a tab. */
export const IMAGES_ONLY = '\timages';

/** The plain name of the key in `key`, if that is one for images alone, or else nil. */
const PLAIN_KEY = `string.match(key, '^(.*)${IMAGES_ONLY}$')`;

const NOW = `
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)`;

/**
 * Chooses one of a provider's servers for a call, and one of its keys. KEYS: those of the line, and of each server:
 * calls (task -> end of its lease), owners (task -> permit), starts (permit -> time), breaker, keys (name -> `<end of
 * its pause> <refusals>`); ARGV: those of the line, task, permit, whether it resumes, whether it is a test, lease, what the server must load
 * ('' = nothing), how many options there are, and of each, best first, the index of its server and its key, which ends
 * in IMAGES_ONLY for an image, so that both of its pauses count; then who asks, if known: account, weight, key, weight,
 * the job by which the task comes back if it waits ('' = a chat), and the ms that it has left. Returns the reason of the
 * refusal that ends first and the ms until a retry, or '' and the time; then the option that these are of, from 1, and
 * the jobs to call.
 * A breaker is closed without `trips`, open before `until`, and half open afterwards: then only the task that is its
 * `probe` may call, for as long as that task has a slot. A test passes all pauses, and is the probe of an open breaker.
 */
export const ENTER = new RedisScript(`${NOW}${LINE}
  local task, pass, resumes, tests, lease, work = unpack(ARGV, rest + 1, rest + 6)
  local options, names = {}, ','
  for n = 1, tonumber(ARGV[rest + 7]) do
    local server = servers[tonumber(ARGV[rest + 6 + 2 * n])]
    options[n] = { index = n, server = server, key = ARGV[rest + 7 + 2 * n] }
    if not string.find(names, ',' .. server.name .. ',', 1, true) then names = names .. server.name .. ',' end
  end
  local who = rest + 7 + 2 * #options
  local account, job = ARGV[who + 1], ARGV[who + 5]
  for _, server in ipairs(servers) do
    for _, lost in ipairs(redis.call('ZRANGEBYSCORE', server.calls, '-inf', now)) do
      redis.call('ZREM', server.calls, lost)
      redis.call('HDEL', server.owners, lost)
    end
  end
  -- Chats don't come back, but their callers try again, so these wait by their callers.
  local place = job == '' and 'chat ' .. account .. ' ' .. ARGV[who + 3] or task
  local function join()
    if not account then return end
    join_line(place, unpack(ARGV, who + 1, who + 5))
    make_wish(place, names, work, account, ARGV[who + 3])
  end
  local refusal
  local function refused(option, reason, ms)
    if not refusal or ms < refusal.ms then refusal = { reason = reason, ms = ms, index = option.index } end
  end
  local function refuse()
    local reason, ms = refusal.reason, refusal.ms
    join()
    if job == '' then
      ms = math.min(ms, ${CHAT_RETRY_MS})
      -- Callers are told whole seconds; another chat of theirs may have been told more of them.
      local back = now + math.max(1, math.ceil(ms / 1000)) * 1000 + ${CHAT_LATE_MS}
      wait(place, math.max(back, redis.call('ZSCORE', waits, place) or 0) - now)
    elseif job then
      ms = ask_again(task, ms, tonumber(ARGV[who + 6]))
    end
    return { reason, ms, refusal.index, called }
  end
  local function has_place(server)
    return redis.call('ZSCORE', server.calls, task) or redis.call('ZSCORE', server.calls, place)
  end
  -- Why the server or its key can't be used, whoever else calls it.
  local function is_paused(option)
    local server, key = option.server, option.key
    local trips, till, probe = unpack(redis.call('HMGET', server.breaker, 'trips', 'until', 'probe'))
    option.trips = trips
    if tests == '1' then return false end
    if trips then
      if tonumber(till) > now then return true, refused(option, 'open', till - now) end
      if probe and probe ~= task and redis.call('ZSCORE', server.calls, probe) then
        return true, refused(option, 'open', ${ASK_AGAIN_MS})
      end
    end
    local function rest_of(name)
      return tonumber(string.match(redis.call('HGET', server.keys, name) or '', '^%d+')) or 0
    end
    local plain = ${PLAIN_KEY}
    local rested = math.max(rest_of(key), plain and rest_of(plain) or 0)
    if rested > now then return true, refused(option, 'cooling', rested - now) end
  end
  -- Of each server that is not paused the first key: servers with a place for the task first, then those that have
  -- loaded what it needs.
  local function usable()
    local seen, ranks = {}, { {}, {}, {} }
    for _, option in ipairs(options) do
      local server = option.server
      if not seen[server] and not is_paused(option) then
        seen[server] = true
        redis.call('ZREMRANGEBYSCORE', server.starts, '-inf', now - ${WINDOW_MS})
        option.has_place = has_place(server)
        local rank = option.has_place and 1 or is_ready_for(server, work) and 2 or 3
        table.insert(ranks[rank], option)
      end
    end
    for _, rank in ipairs({ ranks[2], ranks[3] }) do
      for _, option in ipairs(rank) do table.insert(ranks[1], option) end
    end
    return ranks[1]
  end
  -- Gives the free places to the tasks in turn, of which this may be one.
  local function take_turn_in_line(chosen)
    local is_free = false
    for _, option in ipairs(chosen) do
      if option.has_place then return end
      is_free = is_free or not option.trips and places(option.server) > 0
    end
    if not is_free or redis.call('EXISTS', turns) == 1 then join() end
    for _, option in ipairs(chosen) do
      if not option.trips then give_places(option.server, 1, place) end
      option.has_place = has_place(option.server)
    end
  end
  local function may_begin(option)
    local server, has_place = option.server, option.has_place
    local is_behind = not has_place
      and (places(server) <= 0 or not option.trips and redis.call('HEXISTS', waiters, place) == 1)
    local others, begun = redis.call('ZCARD', server.calls) - (has_place and 1 or 0), redis.call('ZCARD', server.starts)
    if server.limit > 0 and others >= server.limit then return false, refused(option, 'busy', ${ASK_AGAIN_MS}) end
    if server.rate > 0 and begun >= server.rate then
      local first = redis.call('ZRANGE', server.starts, begun - server.rate, begun - server.rate, 'WITHSCORES')
      return false, refused(option, 'rate', first[2] + ${WINDOW_MS} - now)
    end
    if is_behind then return false, refused(option, 'busy', ${ASK_AGAIN_MS}) end
    return true
  end
  local chosen = options[1]
  if resumes == '0' then
    local ready = usable()
    take_turn_in_line(ready)
    chosen = nil
    for _, option in ipairs(ready) do
      if option.has_place and may_begin(option) then chosen = chosen or option end
    end
    for _, option in ipairs(ready) do
      if not chosen and not option.has_place and may_begin(option) then chosen = option end
    end
    if not chosen then return refuse() end
    local server = chosen.server
    redis.call('ZADD', server.starts, now, pass)
    if server.rate == 0 then redis.call('ZREMRANGEBYRANK', server.starts, 0, -${STARTS_KEPT + 1}) end
    redis.call('PEXPIRE', server.starts, ${WINDOW_MS})
    if chosen.trips then redis.call('HSET', server.breaker, 'probe', task) end
    note_loaded(server, work)
  end
  leave_line(place)
  local calls, owners = chosen.server.calls, chosen.server.owners
  if not redis.call('ZSCORE', calls, task) then redis.call('ZREM', calls, place) end
  redis.call('ZADD', calls, now + lease, task)
  redis.call('HSET', owners, task, pass)
  redis.call('PEXPIRE', calls, ${KEEP_MS})
  redis.call('PEXPIRE', owners, ${KEEP_MS})
  -- A place that another server kept for this task is free again.
  for _, server in ipairs(servers) do
    if server ~= chosen.server and place == task and redis.call('HEXISTS', server.owners, task) == 0 then
      redis.call('ZREM', server.calls, task)
    end
  end
  return { '', now, chosen.index, called }`);

/**
 * KEYS: those of the line and of the server, and failures (times, newest first); ARGV: those of the line, task, permit,
 * key, outcome, when the call began, ms that the provider said to wait (0 = none), ms that a parked call keeps its slot
 * (0 = it has ended), then how many failures open the breaker, within how many ms, its first pause in ms, a key's first
 * pause in ms, whether it is the server's only key, and whether the call was a test. Returns the jobs to call.
 * While the breaker is open, only its probe decides; a failed call that began before the breaker closed does not count.
 * A refusal does not prolong a key's current pause, unless the provider said how long to wait; a test that succeeds ends it.
 * A refused key says nothing about the provider, so another call may be the probe, though this one may be parked.
 */
export const LEAVE = new RedisScript(`${NOW}${LINE}
  local server, failures = servers[1], KEYS[${LINE_PARTS.length + SERVER_PARTS.length + 1}]
  local calls, owners, breaker, keys = server.calls, server.owners, server.breaker, server.keys
  local task, pass, key, outcome, began, told, keep = unpack(ARGV, rest + 1, rest + 7)
  local most, within, first_pause, first_key_pause, is_only_key, tests = unpack(ARGV, rest + 8, rest + 13)
  local owned = redis.call('HGET', owners, task) == pass
  if owned and tonumber(keep) > 0 then
    redis.call('ZADD', calls, now + keep, task)
  elseif owned then
    redis.call('ZREM', calls, task)
    redis.call('HDEL', owners, task)
  end
  local trips, probe, closed = unpack(redis.call('HMGET', breaker, 'trips', 'probe', 'closed'))
  local decides = trips and owned and probe == task
  local rested, refusals = string.match(redis.call('HGET', keys, key) or '0 0', '^(%d+) (%d+)$')
  rested, refusals = tonumber(rested), tonumber(refusals)
  local function open(times)
    local pause = math.min(${MAX_PAUSE_MS}, first_pause * 2 ^ (times - 1))
    redis.call('DEL', breaker, failures)
    redis.call('HSET', breaker, 'trips', times, 'until', now + pause)
    redis.call('PEXPIRE', breaker, ${KEEP_MS})
  end
  if outcome == 'succeeded' then
    if rested <= now or tests == '1' then
      redis.call('HDEL', keys, key)
      rested = 0
    end
    local plain = ${PLAIN_KEY}
    local all = plain and tonumber(string.match(redis.call('HGET', keys, plain) or '', '^%d+'))
    if all and (all <= now or tests == '1') then redis.call('HDEL', keys, plain) end
    if not trips then redis.call('DEL', failures) end
    if decides then
      redis.call('DEL', breaker, failures)
      redis.call('HSET', breaker, 'closed', now)
      redis.call('PEXPIRE', breaker, ${KEEP_MS})
    end
  elseif outcome == 'failed' then
    if decides then
      open(trips + 1)
    elseif not trips and tonumber(began) >= tonumber(closed or 0) then
      redis.call('LPUSH', failures, now)
      redis.call('LTRIM', failures, 0, most - 1)
      redis.call('PEXPIRE', failures, within)
      local first = redis.call('LINDEX', failures, most - 1)
      if first and now - first <= tonumber(within) then open(1) end
    end
  elseif outcome == 'key_refused' then
    if decides then redis.call('HDEL', breaker, 'probe') end
    told = tonumber(told)
    if rested > now then
      if told > 0 then rested = math.max(rested, now + told) end
    else
      rested = now + (told > 0 and told or math.min(${MAX_PAUSE_MS}, first_key_pause * 2 ^ refusals))
      refusals = refusals + 1
    end
    redis.call('HSET', keys, key, string.format('%.0f %.0f', rested, refusals))
    redis.call('PEXPIRE', keys, ${KEEP_MS})
  end
  redis.call('ZREMRANGEBYSCORE', server.starts, '-inf', now - ${WINDOW_MS})
  -- A task that was given a place where the only key pauses would lose its turn.
  local is_paused = rested > now and is_only_key == '1' or redis.call('HEXISTS', breaker, 'trips') == 1
  if not is_paused then give_places(server, 2) end
  return called`);

/**
 * Ends the pauses of servers and their keys. KEYS and ARGV: those of the line and of the servers. Where a breaker was open
 * or waits for its probe, only the next task in turn goes on, to be the probe. Returns how many servers had pauses, and the
 * jobs to call.
 */
export const END_PAUSES = new RedisScript(`${NOW}${LINE}
  local ended = 0
  for _, server in ipairs(servers) do
    for _, lost in ipairs(redis.call('ZRANGEBYSCORE', server.calls, '-inf', now)) do
      redis.call('ZREM', server.calls, lost)
      redis.call('HDEL', server.owners, lost)
    end
    redis.call('ZREMRANGEBYSCORE', server.starts, '-inf', now - ${WINDOW_MS})
    local trips, probe = unpack(redis.call('HMGET', server.breaker, 'trips', 'probe'))
    local is_probed = probe and redis.call('ZSCORE', server.calls, probe)
    local rested = false
    local keys = redis.call('HGETALL', server.keys)
    for k = 1, #keys, 2 do
      local till, refusals = string.match(keys[k + 1], '^(%d+) (%d+)$')
      if till and tonumber(till) > now then
        redis.call('HSET', server.keys, keys[k], string.format('%.0f %s', now, refusals))
        rested = true
      end
    end
    if trips and not is_probed then
      redis.call('HSET', server.breaker, 'until', now)
      if redis.call('EXISTS', turns) == 1 and places(server) > 0 then give_place(server) end
    elseif rested and not trips then
      give_places(server, 2)
    end
    if rested or trips and not is_probed then ended = ended + 1 end
  end
  return { ended, called }`);

/** KEYS: calls, owners; ARGV: task. */
export const FORGET = new RedisScript(`
  redis.call('ZREM', KEYS[1], ARGV[1])
  redis.call('HDEL', KEYS[2], ARGV[1])`);

/**
 * KEYS: calls and owners of each server; ARGV: lease, then for each call the index of its server's calls in KEYS,
 * task and permit. A call that Redis has lost counts again; one that another permit has taken over does not.
 */
export const RENEW = new RedisScript(`${NOW}
  for i = 2, #ARGV, 3 do
    local calls, owners, task, pass = KEYS[tonumber(ARGV[i])], KEYS[ARGV[i] + 1], ARGV[i + 1], ARGV[i + 2]
    if (redis.call('HGET', owners, task) or pass) == pass then
      redis.call('ZADD', calls, now + ARGV[1], task)
      redis.call('HSET', owners, task, pass)
      redis.call('PEXPIRE', calls, ${KEEP_MS})
      redis.call('PEXPIRE', owners, ${KEEP_MS})
    end
  end`);

/**
 * KEYS: calls, starts, breaker and keys of each server. Returns for each its calls, its starts in the last minute,
 * how often the breaker has tripped since it was closed, the ms it stays open, and the names and ms of paused keys.
 */
export const LOOK = new RedisScript(`${NOW}
  local all = {}
  for i = 1, #KEYS, 4 do
    local resting = {}
    local keys = redis.call('HGETALL', KEYS[i + 3])
    for k = 1, #keys, 2 do
      local ms = string.match(keys[k + 1], '^%d+') - now
      if ms > 0 then
        resting[#resting + 1] = keys[k]
        resting[#resting + 1] = ms
      end
    end
    local trips, till = unpack(redis.call('HMGET', KEYS[i + 2], 'trips', 'until'))
    all[#all + 1] = {
      redis.call('ZCOUNT', KEYS[i], string.format('(%.0f', now), '+inf'),
      redis.call('ZCOUNT', KEYS[i + 1], string.format('(%.0f', now - ${WINDOW_MS}), '+inf'),
      tonumber(trips or 0), math.max(0, (till or now) - now), resting }
  end
  return all`);
