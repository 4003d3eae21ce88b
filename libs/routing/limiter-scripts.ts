import { RedisScript } from '#redis/redis-script.js';
import { STARTS_KEPT } from './limiter.js';

/** Longest pause of a provider or key for which the provider named no time, in ms. */
const MAX_PAUSE_MS = 60_000;
/** The window of `starts_per_minute`, in ms. */
const WINDOW_MS = 60_000;
/** The state of an unused provider expires after a day; no slot and no pause lasts longer. */
const KEEP_MS = 86_400_000;
/** When to ask again, in ms, if it is unknown when a slot becomes free or how a probe ends. */
const ASK_AGAIN_MS = 1_000;

const NOW = `
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)`;

/**
 * KEYS: calls (task -> end of its lease), owners (task -> permit), starts (permit -> time), breaker, keys (name ->
 * `<end of its pause> <refusals>`); ARGV: task, permit, key, whether it resumes, lease, most calls and most starts (0 =
 * any number). Returns the reason of a refusal and the ms until a retry, or '' and the time.
 * The breaker is closed without `trips`, open before `until`, and half open afterwards: then only the task that is its
 * `probe` may call, for as long as that task has a slot.
 */
export const ENTER = new RedisScript(`${NOW}
  local task, pass, limit, rate = ARGV[1], ARGV[2], tonumber(ARGV[6]), tonumber(ARGV[7])
  for _, lost in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now)) do
    redis.call('ZREM', KEYS[1], lost)
    redis.call('HDEL', KEYS[2], lost)
  end
  if ARGV[4] == '0' then
    local trips, till, probe = unpack(redis.call('HMGET', KEYS[4], 'trips', 'until', 'probe'))
    if trips then
      if tonumber(till) > now then return { 'open', till - now } end
      if probe and probe ~= task and redis.call('ZSCORE', KEYS[1], probe) then return { 'open', ${ASK_AGAIN_MS} } end
    end
    local rested = tonumber(string.match(redis.call('HGET', KEYS[5], ARGV[3]) or '', '^%d+')) or 0
    if rested > now then return { 'cooling', rested - now } end
    local others = redis.call('ZCARD', KEYS[1]) - (redis.call('ZSCORE', KEYS[1], task) and 1 or 0)
    if limit > 0 and others >= limit then return { 'busy', ${ASK_AGAIN_MS} } end
    redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now - ${WINDOW_MS})
    local begun = redis.call('ZCARD', KEYS[3])
    if rate > 0 and begun >= rate then
      local first = redis.call('ZRANGE', KEYS[3], begun - rate, begun - rate, 'WITHSCORES')
      return { 'rate', first[2] + ${WINDOW_MS} - now }
    end
    redis.call('ZADD', KEYS[3], now, pass)
    if rate == 0 then redis.call('ZREMRANGEBYRANK', KEYS[3], 0, -${STARTS_KEPT + 1}) end
    redis.call('PEXPIRE', KEYS[3], ${WINDOW_MS})
    if trips then redis.call('HSET', KEYS[4], 'probe', task) end
  end
  redis.call('ZADD', KEYS[1], now + ARGV[5], task)
  redis.call('HSET', KEYS[2], task, pass)
  redis.call('PEXPIRE', KEYS[1], ${KEEP_MS})
  redis.call('PEXPIRE', KEYS[2], ${KEEP_MS})
  return { '', now }`);

/**
 * KEYS: calls, owners, breaker, failures (times, newest first), keys; ARGV: task, permit, key, outcome, when the call
 * began, ms that the provider said to wait (0 = none), ms that a parked call keeps its slot (0 = it has ended), then how
 * many failures open the breaker, within how many ms, its first pause in ms, and a key's first pause in ms.
 * While the breaker is open, only its probe decides; a failed call that began before the breaker closed does not count.
 * A refusal does not prolong a key's current pause, unless the provider said how long to wait.
 * A refused key says nothing about the provider, so another call may be the probe, though this one may be parked.
 */
export const LEAVE = new RedisScript(`${NOW}
  local task, key, outcome = ARGV[1], ARGV[3], ARGV[4]
  local owned = redis.call('HGET', KEYS[2], task) == ARGV[2]
  if owned and tonumber(ARGV[7]) > 0 then
    redis.call('ZADD', KEYS[1], now + ARGV[7], task)
  elseif owned then
    redis.call('ZREM', KEYS[1], task)
    redis.call('HDEL', KEYS[2], task)
  end
  local trips, probe, closed = unpack(redis.call('HMGET', KEYS[3], 'trips', 'probe', 'closed'))
  local decides = trips and owned and probe == task
  local rested, refusals = string.match(redis.call('HGET', KEYS[5], key) or '0 0', '^(%d+) (%d+)$')
  rested, refusals = tonumber(rested), tonumber(refusals)
  local function open(times)
    local pause = math.min(${MAX_PAUSE_MS}, ARGV[10] * 2 ^ (times - 1))
    redis.call('DEL', KEYS[3], KEYS[4])
    redis.call('HSET', KEYS[3], 'trips', times, 'until', now + pause)
    redis.call('PEXPIRE', KEYS[3], ${KEEP_MS})
  end
  if outcome == 'succeeded' then
    if rested <= now then redis.call('HDEL', KEYS[5], key) end
    if not trips then redis.call('DEL', KEYS[4]) end
    if decides then
      redis.call('DEL', KEYS[3], KEYS[4])
      redis.call('HSET', KEYS[3], 'closed', now)
      redis.call('PEXPIRE', KEYS[3], ${KEEP_MS})
    end
  elseif outcome == 'failed' then
    if decides then
      open(trips + 1)
    elseif not trips and tonumber(ARGV[5]) >= tonumber(closed or 0) then
      redis.call('LPUSH', KEYS[4], now)
      redis.call('LTRIM', KEYS[4], 0, ARGV[8] - 1)
      redis.call('PEXPIRE', KEYS[4], ARGV[9])
      local first = redis.call('LINDEX', KEYS[4], ARGV[8] - 1)
      if first and now - first <= tonumber(ARGV[9]) then open(1) end
    end
  elseif outcome == 'key_refused' then
    if decides then redis.call('HDEL', KEYS[3], 'probe') end
    local told = tonumber(ARGV[6])
    if rested > now then
      if told > 0 then rested = math.max(rested, now + told) end
    else
      rested = now + (told > 0 and told or math.min(${MAX_PAUSE_MS}, ARGV[11] * 2 ^ refusals))
      refusals = refusals + 1
    end
    redis.call('HSET', KEYS[5], key, string.format('%.0f %.0f', rested, refusals))
    redis.call('PEXPIRE', KEYS[5], ${KEEP_MS})
  end`);

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
