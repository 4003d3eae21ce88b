import { RedisScript } from '#redis/redis-script.js';
import { IMAGE_QUEUE } from './job-catalog.js';
import { TURNS } from './turns.js';

/** Priority of a job that needs no turn because its task has had one: ahead of all others. */
export const FIRST_PRIORITY = 1;
/** BullMQ's largest priority. */
const LAST_PRIORITY = 2 ** 21 - 1;
/** Priorities per round: since they are whole numbers, weights divide a round into this many steps. */
export const STEPS = 16;
/** Longer than a task may wait, so that nothing is forgotten while it is needed. */
const KEEP_MS = 90_000_000;
/** How long a task may be on its way from the line to the worker that claims it. */
const HANDED_MS = 10_000;
/** Turns of an account's keys that are over are forgotten each time so many more are known. */
const FORGET_EVERY = 256;
/** BullMQ orders prioritized jobs by priority times this plus a counter. */
const SCORE = 2 ** 32;

/**
 * Shared by all scripts. KEYS: rounds, accounts, handed, and BullMQ's prioritized, wait and active jobs.
 * ARGV[1]: the prefix of the keys of one account, and of BullMQ's jobs.
 *
 * rounds    hash   now: the turn being served; base: the turn that priorities count from; account: its last turn
 * accounts  hash   job id: its account, for all job ids in a line or a turn
 * handed    zset   tasks that were just taken out of a line, by the time
 * line:A    zset   waiting tasks of account A, as job ids, by their keys' turns within the account
 * turns:A   zset   jobs of account A in BullMQ's queue, by the account's turns; the nth is for the nth in line
 * keys:A    hash   now: the key turn being served; key: its last turn
 */
const COMMON = `${TURNS}
  local rounds, accounts, handed, prioritized = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
  local function line(account) return ARGV[1] .. ':line:' .. account end
  local function turns(account) return ARGV[1] .. ':turns:' .. account end
  local function keys(account) return ARGV[1] .. ':keys:' .. account end
  local function job(id) return ARGV[1] .. ':${IMAGE_QUEUE}:' .. id end
  local function field(hash, name) return tonumber(call('HGET', hash, name)) end
  -- What runs, or was put back from a dead worker, goes before all that wait.
  local function ahead() return call('LLEN', KEYS[5]) + call('LLEN', KEYS[6]) end
  local function leave(set, id, account)
    call('ZREM', set, id)
    if not call('ZSCORE', line(account), id) and not call('ZSCORE', turns(account), id) then call('HDEL', accounts, id) end
  end
  local function now_ms()
    local time = call('TIME')
    return time[1] * 1000 + math.floor(time[2] / 1000)
  end
`;

function script(text: string): RedisScript {
  return new RedisScript(COMMON + text);
}

/**
 * ARGV from `from` to `to`: how many jobs may be ahead of one that takes a turn (-1 = any number, -2 = take none), then
 * account, weight, key and weight for each job. Sets `answers`: priority, account's turn, key's turn, and jobs ahead,
 * for each; priority 0 = no turn was taken, and nothing has changed for its account.
 * Turns grow without limit but priorities do not: when half of them are used up, those of all waiting jobs are lowered.
 */
const takeTurns = (from: number, to = '#ARGV'): string => `
  local first, last_priority = ${FIRST_PRIORITY}, ${LAST_PRIORITY}
  local now, base = field(rounds, 'now'), field(rounds, 'base') or 0
  if not now then
    -- Forgotten while jobs wait: the first of them says where the rounds are.
    local head = call('ZRANGEBYSCORE', prioritized, (first + 1) * ${SCORE}, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
    local place = head[2] and math.floor(head[2] / ${SCORE}) - first or 0
    local account = head[1] and call('HGET', accounts, head[1])
    local turn = account and tonumber(call('ZSCORE', turns(account), head[1])) or place
    now, base = math.max(0, turn - ${STEPS}), math.floor(turn) - place
    call('HSET', rounds, 'now', exact(now), 'base', exact(base))
  end
  local function lower_all()
    local by = math.floor(now - base) - ${STEPS}
    if by < last_priority / 4 then return end
    local waiting = call('ZRANGEBYSCORE', prioritized, (first + 1) * ${SCORE}, '+inf', 'WITHSCORES')
    for i = 1, #waiting, 2 do
      local place = math.floor(waiting[i + 1] / ${SCORE})
      local lowered = math.max(first + 1, place - by)
      call('ZADD', prioritized, string.format('%.0f', waiting[i + 1] - (place - lowered) * ${SCORE}), waiting[i])
      call('HSET', job(waiting[i]), 'priority', lowered)
    end
    base = base + by
    call('HSET', rounds, 'base', exact(base))
  end
  -- An account's end users may take turns like keys, and there may be many: turns that are over say nothing.
  local function forget_turns(account)
    if call('HLEN', keys(account)) % ${FORGET_EVERY} ~= 0 then return end
    local current, all = turn_in(keys(account), 'now'), call('HGETALL', keys(account))
    for i = 1, #all, 2 do
      if all[i] ~= 'now' and tonumber(all[i + 1]) <= current then call('HDEL', keys(account), all[i]) end
    end
  end
  local answers, most = {}, tonumber(ARGV[${from}])
  for i = ${from + 1}, ${to}, 4 do
    local account, key = ARGV[i], ARGV[i + 2]
    local last = field(rounds, account) or tonumber(call('ZRANGE', turns(account), -1, -1, 'WITHSCORES')[2])
    local turn = turn_after(rounds, 'now', ARGV[i + 1], last, ${STEPS})
    local key_turn = turn_after(keys(account), 'now', ARGV[i + 3], field(keys(account), key))
    if turn - base > last_priority / 2 then lower_all() end
    local priority = math.min(last_priority, first + math.max(1, math.floor(turn - base)))
    -- In its account it may come before tasks of other keys, and is served in the turn of the first of these.
    local place = call('ZCOUNT', line(account), '-inf', exact(key_turn))
    local served_as = call('ZRANGE', turns(account), place, place)[1]
    local before = served_as and call('ZRANK', prioritized, served_as)
      or call('ZCOUNT', prioritized, '-inf', string.format('(%.0f', (priority + 1) * ${SCORE}))
    before = before + ahead()
    if most ~= -1 and before > most then
      priority = 0
    else
      call('HSET', rounds, account, exact(turn))
      if call('HSET', keys(account), key, exact(key_turn)) == 1 then forget_turns(account) end
      call('PEXPIRE', keys(account), ${KEEP_MS})
    end
    answers[#answers + 1] = { priority, exact(turn), exact(key_turn), before }
  end
  call('PEXPIRE', rounds, ${KEEP_MS})`;

/** ARGV: see `takeTurns`. Returns its `answers`. */
export const TAKE_TURNS = script(`${takeTurns(2)}
  return answers`);

/**
 * Takes a turn, and a slot among the tasks that its account, its key and its labels have in flight: all or none. KEYS 7 to
 * 9: when accounts were checked, the account's tasks, the key's tasks; then each label's tasks. ARGV: what stands for the
 * task among each of the two (the account's are stored as `<key> <task>`), the account's limit, the key's (0 = any number),
 * ms a slot is kept, ms a check of the rows is trusted, then see `takeTurns` of one job, then each label's limit. Returns
 * the outcome: with `taken` the answer of `takeTurns`, and the index of a label that is at its limit.
 * Only the account and the key give up a slot by themselves: a label's is its task's while that is among the account's.
 */
export const TAKE_TURN_AND_SLOT = script(`
  local time = now_ms()
  local known = call('ZSCORE', KEYS[7], ARGV[9])
  if not known then return { 'unknown' } end
  for i = 8, 9 do
    call('ZREMRANGEBYSCORE', KEYS[i], '-inf', time - ARGV[6])
    local limit = tonumber(ARGV[i - 4])
    if limit > 0 and call('ZCARD', KEYS[i]) >= limit then
      if time - known > tonumber(ARGV[7]) then return { 'unknown' } end
      return { i == 8 and 'account' or 'key' }
    end
  end
  for i = 10, #KEYS do
    local limit = tonumber(ARGV[i + 3])
    if call('ZCARD', KEYS[i]) >= limit then
      for _, task in ipairs(call('ZRANGE', KEYS[i], 0, -1)) do
        if not call('ZSCORE', KEYS[8], task) then call('ZREM', KEYS[i], task) end
      end
    end
    if call('ZCARD', KEYS[i]) >= limit then
      if time - known > tonumber(ARGV[7]) then return { 'unknown' } end
      return { i - 10 }
    end
  end
  ${takeTurns(8, '12')}
  if answers[1][1] > 0 then
    for i = 8, #KEYS do
      call('ZADD', KEYS[i], time, i == 9 and ARGV[3] or ARGV[2])
      call('PEXPIRE', KEYS[i], ARGV[6])
    end
  end
  return { 'taken', unpack(answers[1]) }`);

const UNDO_TURNS = `
  return_turn(rounds, ARGV[2], ARGV[3])
  return_turn(keys(ARGV[2]), ARGV[4], ARGV[5])`;

/** ARGV: an account, the size of its turn, a key of it, and the size of that key's turn. Undoes their last turns. */
export const RETURN_TURN = script(UNDO_TURNS);

/** KEYS 7 to 9, and the last two of ARGV: see TAKE_TURN_AND_SLOT; the first: RETURN_TURN. Undoes both, if the task has its slot. */
export const RETURN_TURN_AND_SLOT = script(`
  call('ZREM', KEYS[9], ARGV[7])
  if call('ZREM', KEYS[8], ARGV[6]) == 0 then return end
  ${UNDO_TURNS}`);

/**
 * ARGV for each task: account, the task as its job id, the key's turn, the job that holds the account's turn, that turn.
 * Puts the tasks in line.
 */
export const JOIN = script(`
  for i = 2, #ARGV, 5 do
    local account, task, job_id = ARGV[i], ARGV[i + 1], ARGV[i + 3]
    call('HSET', accounts, task, account, job_id, account)
    call('ZADD', line(account), ARGV[i + 2], task)
    call('ZADD', turns(account), ARGV[i + 4], job_id)
    call('ZREM', handed, task)
  end`);

/**
 * ARGV: a job that starts, or '' and an account whose next task is wanted. Returns the task to run (as its job id), its
 * account, the key's turn and the account's turn; only the job if it comes back after its turn; nothing if there is no
 * task or turn.
 * KEYS[7]: BullMQ's marker, which wakes a worker. With each job that BullMQ hands out, it wakes one for the next; when
 * none waits, that is in vain.
 */
export const NEXT = script(`
  local id, account = ARGV[2], ARGV[3]
  if call('LLEN', KEYS[5]) == 0 and call('ZCARD', prioritized) == 0 then call('ZREM', KEYS[7], '0') end
  local turn = ''
  if id ~= '' then
    account = call('HGET', accounts, id)
    if not account then return { id } end
    turn = call('ZSCORE', turns(account), id)
    if not turn then return {} end
    leave(turns(account), id, account)
    -- Where the rounds were lost, the next turn that is taken finds them again.
    if field(rounds, 'now') then begin_turn(rounds, 'now', turn) end
    -- An account that has no more turns needs none remembered, unless one is about to be used.
    if call('EXISTS', turns(account)) == 0 and turn_in(rounds, account) <= turn_in(rounds, 'now') then
      call('HDEL', rounds, account)
    end
  end
  local head = call('ZRANGE', line(account), 0, 0, 'WITHSCORES')
  if not head[1] then return {} end
  leave(line(account), head[1], account)
  begin_turn(keys(account), 'now', head[2])
  local time = now_ms()
  call('ZREMRANGEBYSCORE', handed, '-inf', time - ${HANDED_MS})
  call('ZADD', handed, time, head[1])
  call('PEXPIRE', handed, ${HANDED_MS})
  call('PEXPIRE', rounds, ${KEEP_MS})
  return { head[1], account, head[2], turn }`);

/**
 * ARGV: a task to take out of line, as its job id. Returns the job to remove: the account's last one, so that all tasks
 * behind this one move up; '' when there is none.
 */
export const LEAVE = script(`
  local id = ARGV[2]
  local account = call('HGET', accounts, id)
  if not account then return id end
  if not call('ZSCORE', line(account), id) then return '' end
  leave(line(account), id, account)
  local ends = call('ZRANGE', turns(account), -2, -1, 'WITHSCORES')
  if #ends == 0 then return '' end
  leave(turns(account), ends[#ends - 1], account)
  if field(rounds, account) == tonumber(ends[#ends]) then
    if #ends == 4 then call('HSET', rounds, account, ends[2]) else call('HDEL', rounds, account) end
  end
  return ends[#ends - 1]`);

/**
 * ARGV: waiting tasks, as job ids. Returns for each 1 if no job would run it, because it was never added or was lost;
 * then removes what is left of the task. Jobs that come back are in no line, and run the task that they name.
 */
export const MISSING = script(`
  local lost = {}
  for i = 2, #ARGV do
    local id = ARGV[i]
    local account = call('HGET', accounts, id)
    local place = account and call('ZRANK', line(account), id)
    if place then
      local turn
      repeat
        turn = call('ZRANGE', turns(account), place, place)[1]
        local gone = turn and call('EXISTS', job(turn)) == 0
        if gone then leave(turns(account), turn, account) end
      until not gone
      lost[#lost + 1] = turn and 0 or 1
      if not turn then leave(line(account), id, account) end
    else
      local since = tonumber(call('ZSCORE', handed, id))
      local safe = since and since > now_ms() - ${HANDED_MS} or not account and call('EXISTS', job(id)) == 1
      lost[#lost + 1] = safe and 0 or 1
    end
  end
  return lost`);

/** ARGV: tasks, as job ids. Returns for each its rank in its account's line (-1 = in none) and the jobs ahead of it. */
export const POSITIONS = script(`
  local ranks, running = {}, ahead()
  for i = 2, #ARGV do
    local account = call('HGET', accounts, ARGV[i])
    local rank = account and call('ZRANK', line(account), ARGV[i])
    local served_as = rank and call('ZRANGE', turns(account), rank, rank)[1] or not account and ARGV[i]
    local before = served_as and call('ZRANK', prioritized, served_as)
    if not account and before then rank = 0 end
    ranks[#ranks + 1] = { rank or -1, running + (before or 0) }
  end
  return ranks`);
