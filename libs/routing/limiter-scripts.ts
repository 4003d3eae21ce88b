import { RedisScript } from '#redis/redis-script.js';
import { STARTS_KEPT } from './call-permit.js';
import { CHAT_LATE_MS, CHAT_RETRY_MS, LINE } from './provider-line.js';

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
 * KEYS: calls (task -> end of its lease), owners (task -> permit), starts (permit -> time), the others of the line,
 * breaker, keys (name -> `<end of its pause> <refusals>`); ARGV: four of the line, task, permit, key, which ends in
 * IMAGES_ONLY for an image, so that both of its pauses count, whether it resumes,
 * lease, then who asks, if known: account, weight, key, weight, the job by which the task comes back if it waits ('' =
 * a chat), and the ms that it has left. Returns the reason of a refusal and the ms until a retry, or '' and the time;
 * then the jobs to call.
 * The breaker is closed without `trips`, open before `until`, and half open afterwards: then only the task that is its
 * `probe` may call, for as long as that task has a slot.
 */
export const ENTER = new RedisScript(`${NOW}${LINE}
  local breaker, keys, task, pass = KEYS[8], KEYS[9], ARGV[5], ARGV[6]
  local account, job = ARGV[10], ARGV[14]
  for _, lost in ipairs(redis.call('ZRANGEBYSCORE', calls, '-inf', now)) do
    redis.call('ZREM', calls, lost)
    redis.call('HDEL', owners, lost)
  end
  -- Chats don't come back, but their callers try again, so these wait by their callers.
  local place = job == '' and 'chat ' .. account .. ' ' .. ARGV[12] or task
  local function join() if account then join_line(place, unpack(ARGV, 10, 14)) end end
  local function refuse(reason, ms)
    join()
    if job == '' then
      ms = math.min(ms, ${CHAT_RETRY_MS})
      -- Callers are told whole seconds; another chat of theirs may have been told more of them.
      local back = now + math.max(1, math.ceil(ms / 1000)) * 1000 + ${CHAT_LATE_MS}
      wait(place, math.max(back, redis.call('ZSCORE', waits, place) or 0) - now)
    elseif job then
      ms = ask_again(task, ms, tonumber(ARGV[15]))
    end
    return { reason, ms, called }
  end
  local function own_or_kept_place() return redis.call('ZSCORE', calls, task) or redis.call('ZSCORE', calls, place) end
  if ARGV[8] == '0' then
    local trips, till, probe = unpack(redis.call('HMGET', breaker, 'trips', 'until', 'probe'))
    if trips then
      if tonumber(till) > now then return refuse('open', till - now) end
      if probe and probe ~= task and redis.call('ZSCORE', calls, probe) then return refuse('open', ${ASK_AGAIN_MS}) end
    end
    local key = ARGV[7]
    local function rest_of(name) return tonumber(string.match(redis.call('HGET', keys, name) or '', '^%d+')) or 0 end
    local plain = ${PLAIN_KEY}
    local rested = math.max(rest_of(key), plain and rest_of(plain) or 0)
    if rested > now then return refuse('cooling', rested - now) end
    redis.call('ZREMRANGEBYSCORE', starts, '-inf', now - ${WINDOW_MS})
    local has_slot = own_or_kept_place()
    if not has_slot and not trips then
      if places() <= 0 or redis.call('EXISTS', turns) == 1 then join() end
      give_places(1, place)
      has_slot = own_or_kept_place()
    end
    local is_behind = not has_slot and (places() <= 0 or not trips and redis.call('HEXISTS', waiters, place) == 1)
    local others, begun = redis.call('ZCARD', calls) - (has_slot and 1 or 0), redis.call('ZCARD', starts)
    if limit > 0 and others >= limit then return refuse('busy', ${ASK_AGAIN_MS}) end
    if rate > 0 and begun >= rate then
      local first = redis.call('ZRANGE', starts, begun - rate, begun - rate, 'WITHSCORES')
      return refuse('rate', first[2] + ${WINDOW_MS} - now)
    end
    if is_behind then return refuse('busy', ${ASK_AGAIN_MS}) end
    redis.call('ZADD', starts, now, pass)
    if rate == 0 then redis.call('ZREMRANGEBYRANK', starts, 0, -${STARTS_KEPT + 1}) end
    redis.call('PEXPIRE', starts, ${WINDOW_MS})
    if trips then redis.call('HSET', breaker, 'probe', task) end
  end
  leave_line(place)
  if not redis.call('ZSCORE', calls, task) then redis.call('ZREM', calls, place) end
  redis.call('ZADD', calls, now + ARGV[9], task)
  redis.call('HSET', owners, task, pass)
  redis.call('PEXPIRE', calls, ${KEEP_MS})
  redis.call('PEXPIRE', owners, ${KEEP_MS})
  return { '', now, called }`);

/**
 * KEYS: those of the line, breaker, keys, failures (times, newest first); ARGV: four of the line, task, permit, key,
 * outcome, when the call began, ms that the provider said to wait (0 = none), ms that a parked call keeps its slot (0 =
 * it has ended), then how many failures open the breaker, within how many ms, its first pause in ms, and a key's first
 * pause in ms. Returns the jobs to call.
 * While the breaker is open, only its probe decides; a failed call that began before the breaker closed does not count.
 * A refusal does not prolong a key's current pause, unless the provider said how long to wait.
 * A refused key says nothing about the provider, so another call may be the probe, though this one may be parked.
 */
export const LEAVE = new RedisScript(`${NOW}${LINE}
  local breaker, keys, failures = KEYS[8], KEYS[9], KEYS[10]
  local task, key, outcome = ARGV[5], ARGV[7], ARGV[8]
  local owned = redis.call('HGET', owners, task) == ARGV[6]
  if owned and tonumber(ARGV[11]) > 0 then
    redis.call('ZADD', calls, now + ARGV[11], task)
  elseif owned then
    redis.call('ZREM', calls, task)
    redis.call('HDEL', owners, task)
  end
  local trips, probe, closed = unpack(redis.call('HMGET', breaker, 'trips', 'probe', 'closed'))
  local decides = trips and owned and probe == task
  local rested, refusals = string.match(redis.call('HGET', keys, key) or '0 0', '^(%d+) (%d+)$')
  rested, refusals = tonumber(rested), tonumber(refusals)
  local function open(times)
    local pause = math.min(${MAX_PAUSE_MS}, ARGV[14] * 2 ^ (times - 1))
    redis.call('DEL', breaker, failures)
    redis.call('HSET', breaker, 'trips', times, 'until', now + pause)
    redis.call('PEXPIRE', breaker, ${KEEP_MS})
  end
  if outcome == 'succeeded' then
    if rested <= now then redis.call('HDEL', keys, key) end
    local plain = ${PLAIN_KEY}
    local all = plain and tonumber(string.match(redis.call('HGET', keys, plain) or '', '^%d+'))
    if all and all <= now then redis.call('HDEL', keys, plain) end
    if not trips then redis.call('DEL', failures) end
    if decides then
      redis.call('DEL', breaker, failures)
      redis.call('HSET', breaker, 'closed', now)
      redis.call('PEXPIRE', breaker, ${KEEP_MS})
    end
  elseif outcome == 'failed' then
    if decides then
      open(trips + 1)
    elseif not trips and tonumber(ARGV[9]) >= tonumber(closed or 0) then
      redis.call('LPUSH', failures, now)
      redis.call('LTRIM', failures, 0, ARGV[12] - 1)
      redis.call('PEXPIRE', failures, ARGV[13])
      local first = redis.call('LINDEX', failures, ARGV[12] - 1)
      if first and now - first <= tonumber(ARGV[13]) then open(1) end
    end
  elseif outcome == 'key_refused' then
    if decides then redis.call('HDEL', breaker, 'probe') end
    local told = tonumber(ARGV[10])
    if rested > now then
      if told > 0 then rested = math.max(rested, now + told) end
    else
      rested = now + (told > 0 and told or math.min(${MAX_PAUSE_MS}, ARGV[15] * 2 ^ refusals))
      refusals = refusals + 1
    end
    redis.call('HSET', keys, key, string.format('%.0f %.0f', rested, refusals))
    redis.call('PEXPIRE', keys, ${KEEP_MS})
  end
  redis.call('ZREMRANGEBYSCORE', starts, '-inf', now - ${WINDOW_MS})
  if redis.call('HEXISTS', breaker, 'trips') == 0 then give_places(2) end
  return called`);

/** KEYS: calls, owners; ARGV: task. */
export const FORGET = new RedisScript(`
  redis.call('ZREM', KEYS[1], ARGV[1])
  redis.call('HDEL', KEYS[2], ARGV[1])`);

/**
 * KEYS: calls and owners of each provider; ARGV: lease, then for each call the index of its provider's calls in KEYS,
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
 * KEYS: calls, starts, breaker and keys of each provider. Returns for each its calls, its starts in the last minute,
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
