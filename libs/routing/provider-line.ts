import { TURNS } from '#queue/turns.js';

/** How long a place is kept for the task that it was given to, until its job has been taken by a worker, in ms. */
const KEPT_MS = 5_000;
/** How long a refused task may be on its way back into the queue, in ms; without a job after that, it is gone. */
const BACK_MS = 5_000;
/** How much longer than the time it was told a task counts as waiting, in ms: for its way to a worker. */
const LATE_MS = 10_000;
/** The line of a provider that no task waits for expires after an hour. */
const LINE_MS = 3_600_000;
/** All that wait for a provider together ask again once in this many ms; they are also called when it is their turn. */
const ASK_EVERY_MS = 500;
/** Longest and shortest time until a waiting task asks again, in ms. */
const SHORTEST_MS = 1_000;
const LONGEST_MS = 30_000;
/** After how many ms the caller of a rejected chat is told to retry, at most. */
export const CHAT_RETRY_MS = 5_000;
/**
 * How much longer than the time it was told a rejected chat counts as waiting, in ms: for its caller's way back. A place
 * that it is given is kept until then, and at least for as long.
 */
export const CHAT_LATE_MS = 2_000;

/** Names of the Redis keys that LINE expects first, in this order. */
export const LINE_PARTS = ['calls', 'owners', 'starts', 'waits', 'waiters', 'turns', 'rounds'] as const;

/**
 * Shared by the scripts that take or free places at a provider. ARGV[1]: the prefix of the provider's keys, ARGV[2]: of
 * BullMQ's image jobs, ARGV[3] and [4]: most calls and most starts (0 = any number). Expects `now`.
 *
 * waits         zset   waiting tasks by the time until which they count
 * waiters       hash   task: `<account> <weight> <key> <weight> <when it asked> <job>`; no job = a caller's chats
 * turns         zset   accounts with waiting tasks, by their next turn
 * turns:A       zset   keys of account A with waiting tasks, by their next turn within the account
 * line:A:K      zset   waiting tasks of a key, the oldest first
 * rounds        hash   '': the turn that was served last; account: the key turn that was served last
 *
 * A free place is given to the next in turn at once: its task gets a slot without an owner, and its delayed job is to
 * be called (`called`). So no place is free while a task waits, unless nobody has noticed that it became free.
 */
export const LINE = `${TURNS}
  local calls, owners, starts, waits, waiters, turns, rounds = unpack(KEYS, 1, ${LINE_PARTS.length})
  local jobs, limit, rate = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
  local called = {}
  local function turns_of(account) return turns .. ':' .. account end
  local function line_of(account, key) return ARGV[1] .. ':line:' .. account .. ':' .. key end
  local function waiter(task)
    return string.match(call('HGET', waiters, task) or '', '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S*)$')
  end
  local function take_turn(set, who, name, weight)
    call('ZADD', set, 'NX', exact(turn_after(rounds, who, weight)), name)
    call('PEXPIRE', set, ${LINE_MS})
  end

  local function leave_line(task)
    local account, _, key = waiter(task)
    call('ZREM', waits, task)
    call('HDEL', waiters, task)
    if not account then return end
    call('ZREM', line_of(account, key), task)
    if call('EXISTS', line_of(account, key)) == 0 then call('ZREM', turns_of(account), key) end
    if call('EXISTS', turns_of(account)) == 0 then
      call('ZREM', turns, account)
      call('HDEL', rounds, account)
    end
    if call('EXISTS', turns) == 0 then call('DEL', rounds) end
  end

  local function join_line(task, account, weight, key, key_weight, job)
    local was, _, had = waiter(task)
    -- The tasks of a key that was rotated go on with another key when it is deleted.
    if was and (was ~= account or had ~= key) then leave_line(task) end
    call('HSET', waiters, task, table.concat({ account, weight, key, key_weight, now, job }, ' '))
    call('ZADD', line_of(account, key), 'NX', now, task)
    call('PEXPIRE', line_of(account, key), ${LINE_MS})
    take_turn(turns_of(account), account, key, key_weight)
    take_turn(turns, '', account, weight)
  end

  local function wait(task, ms)
    call('ZADD', waits, now + ms, task)
    call('PEXPIRE', waits, ${LINE_MS})
    call('PEXPIRE', waiters, ${LINE_MS})
  end

  -- In how many ms a task with so many ms left is to ask again, at the earliest in 'ms'.
  local function ask_again(task, ms, left)
    local told = math.min(${LONGEST_MS}, math.max(${SHORTEST_MS}, ms, ${ASK_EVERY_MS} * call('ZCARD', waits)))
    wait(task, math.min(told + ${LATE_MS}, left))
    return told
  end

  -- Its account and key take their next turns, if they have other tasks waiting.
  local function serve(task)
    local account, weight, key, key_weight = waiter(task)
    begin_turn(rounds, '', call('ZSCORE', turns, account))
    begin_turn(rounds, account, call('ZSCORE', turns_of(account), key))
    call('PEXPIRE', rounds, ${LINE_MS})
    leave_line(task)
    if call('ZREM', turns, account) == 1 then take_turn(turns, '', account, weight) end
    if call('ZREM', turns_of(account), key) == 1 then take_turn(turns_of(account), account, key, key_weight) end
  end

  -- The first result of 'look' on a member of the set; 'look' may remove that member.
  local function first_of(set, look)
    local place = 0
    while true do
      local member = call('ZRANGE', set, place, place)[1]
      if not member then return end
      local found = look(member)
      if found then return found end
      if call('ZRANGE', set, place, place)[1] == member then place = place + 1 end
    end
  end

  -- Who can take a place now: the one that asks, chats, and all whose jobs are delayed. Others are with a worker, or gone.
  local function next_task(asking)
    local function look(task)
      local _, _, _, _, since, job = waiter(task)
      if task == asking or job == '' or job and call('ZSCORE', jobs .. ':delayed', job) then return { task, job } end
      if not job or now - since > ${BACK_MS} and call('EXISTS', jobs .. ':' .. job) == 0 then leave_line(task) end
    end
    return first_of(turns, function(account)
      return first_of(turns_of(account), function(key) return first_of(line_of(account, key), look) end)
    end)
  end

  -- Slots without an owner were given to tasks that have not begun yet.
  local function places()
    local held = call('ZCARD', calls)
    local free = limit > 0 and limit - held or math.huge
    if rate == 0 then return free end
    local begun = call('ZCARD', starts) + math.max(0, held - call('HLEN', owners))
    return math.min(free, rate - begun)
  end

  -- Where nothing is limited, tasks waited for a pause to end: only 'most' go on at once, or a recovered provider would
  -- get all of them at the same moment, and the workers' slots would go to whoever waited in large numbers.
  local function give_places(most, asking)
    if call('EXISTS', turns) == 0 then return end
    local free = places()
    if free == math.huge then free = most end
    for _ = 1, free do
      local head = next_task(asking)
      if not head then return end
      local kept_until = now + ${KEPT_MS}
      if head[2] == '' then
        kept_until = math.max(now + ${CHAT_LATE_MS}, call('ZSCORE', waits, head[1]) or 0)
      end
      call('ZADD', calls, 'GT', kept_until, head[1])
      if call('PTTL', calls) < 0 then call('PEXPIRE', calls, ${LINE_MS}) end
      serve(head[1])
      if head[1] ~= asking and head[2] ~= '' then called[#called + 1] = head[2] end
    end
  end

  for _, task in ipairs(call('ZRANGEBYSCORE', waits, '-inf', now)) do leave_line(task) end
`;
