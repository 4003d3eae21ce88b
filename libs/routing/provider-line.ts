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

/** How many waiting tasks are looked at, at most, for one that needs what a server has loaded. */
const MOST_LOOKS = 50;
/**
 * How many waiting tasks a script passes over, at most, because they can't take a place at the server or are with a worker.
 * Redis does nothing else meanwhile, and a line may have thousands of them. Tasks further back get their places when they
 * ask, every LONGEST_MS at least.
 */
const MOST_SKIPPED = 300;

/** Names of a provider's Redis keys that LINE expects first, and of those of each server that follow, in this order. */
export const LINE_PARTS = ['waits', 'waiters', 'turns', 'rounds', 'wishes', 'loaded'] as const;
export const SERVER_PARTS = ['calls', 'owners', 'starts', 'breaker', 'keys'] as const;
/** How many values LINE expects of each server: its name, its most calls and its most starts (0 = any number). */
const SERVER_VALUES = 3;

/**
 * Shared by the scripts that take or free places at the servers of a provider. ARGV[1]: the prefix of the provider's
 * keys, ARGV[2]: of BullMQ's image jobs, ARGV[3]: how many servers there are, then the values of each; those of the
 * script itself follow after `rest`. Expects `now`.
 *
 * waits         zset   waiting tasks by the time until which they count
 * waiters       hash   task: `<account> <weight> <key> <weight> <when it asked> <job>`; no job = a caller's chats
 * turns         zset   accounts with waiting tasks, by their next turn
 * turns:A       zset   keys of account A with waiting tasks, by their next turn within the account
 * line:A:K      zset   waiting tasks of a key, the oldest first
 * rounds        hash   '': the turn that was served last; account: the key turn that was served last
 * wishes        hash   task: `<servers that it may use> <places given before it asked> <tasks of its key before it>
 *                      <how often others overtook it> <how often tasks of its account did> <what its server must load>`;
 *                      absent: any server, and nothing to load
 * loaded        hash   's:' and a server: what it loaded last; 'given': how many places were given to wishes
 *
 * The tasks wait for all servers together. A free place is given to the next in turn at once: its task gets a slot
 * without an owner, and its delayed job is to be called (`called`). So no place is free while a task that may use it
 * waits, unless nobody has noticed that it became free.
 *
 * A server that would have to load another model prefers a task that needs what it has loaded. A task of the same
 * account takes the turn of the one that it overtakes: that may happen half as often as tasks of its key were before it.
 * A task of another account takes a place before that turn: that may happen half as often as places were given in turn.
 * So a task waits for twice as many places as in turn, at most.
 */
export const LINE = `${TURNS}
  local waits, waiters, turns, rounds, wishes, loaded = unpack(KEYS, 1, ${LINE_PARTS.length})
  local jobs = ARGV[2]
  local servers = {}
  for n = 1, tonumber(ARGV[3]) do
    local key, value = ${LINE_PARTS.length} + ${SERVER_PARTS.length} * (n - 1), 3 + ${SERVER_VALUES} * (n - 1)
    local calls, owners, starts, breaker, keys = unpack(KEYS, key + 1, key + ${SERVER_PARTS.length})
    servers[n] = { name = ARGV[value + 1], limit = tonumber(ARGV[value + 2]), rate = tonumber(ARGV[value + 3]),
      calls = calls, owners = owners, starts = starts, breaker = breaker, keys = keys }
  end
  local rest = 3 + ${SERVER_VALUES} * #servers
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
    call('HDEL', wishes, task)
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
    call('PEXPIRE', wishes, ${LINE_MS})
  end

  local function places_given() return tonumber(call('HGET', loaded, 'given')) or 0 end
  local function wish_of(task)
    local names, from, ahead, overtaken, own, work =
      string.match(call('HGET', wishes, task) or '* 0 0 0 0 ', '^(%S+) (%d+) (%d+) (%d+) (%d+) (.*)$')
    return { task = task, servers = names, from = tonumber(from), ahead = tonumber(ahead),
      overtaken = tonumber(overtaken), own = tonumber(own), work = work }
  end
  local function keep_wish(wish)
    local parts = { wish.servers, wish.from, wish.ahead, wish.overtaken, wish.own, wish.work }
    call('HSET', wishes, wish.task, table.concat(parts, ' '))
  end
  -- 'names': of the servers that the task may use, each between commas.
  local function make_wish(task, names, work, account, key)
    if names == ',,' and work == '' then return end
    local wish = wish_of(task)
    if call('HEXISTS', wishes, task) == 0 then
      wish.from, wish.ahead = places_given(), call('ZRANK', line_of(account, key), task) or 0
    end
    wish.servers, wish.work = names, work
    keep_wish(wish)
  end
  local function note_loaded(server, work)
    if work == '' or server.limit == 0 then return end
    call('HSET', loaded, 's:' .. server.name, work)
    call('PEXPIRE', loaded, ${LINE_MS})
  end
  -- Nothing needs to be loaded by a server of which nothing is known: so calls spread over new servers. One without a
  -- limit on its calls is never full, so it would keep a kind of work for ever.
  local function is_ready_for(server, work)
    return work == '' or server.limit == 0 or (call('HGET', loaded, 's:' .. server.name) or work) == work
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

  local skipped, nobody = 0, {}
  -- Who can take a place now: the one that asks, chats, and all whose jobs are delayed. Others are with a worker, or gone.
  local function next_task(server, asking)
    local given, head, passed, closed = places_given(), nil, {}, {}
    local function look(task)
      if skipped >= ${MOST_SKIPPED} and task ~= asking then return head or nobody end
      local account, _, _, _, since, job = waiter(task)
      if task == asking or job == '' or job and call('ZSCORE', jobs .. ':delayed', job) then
        local wish = wish_of(task)
        if wish.servers ~= '*' and not string.find(wish.servers, ',' .. server.name .. ',', 1, true) then
          skipped = skipped + 1
          return
        end
        wish.job, wish.account = job, account
        if is_ready_for(server, wish.work) and not closed[account] then return wish end
        head = head or wish
        local in_turn = math.max(0, given - wish.from - wish.overtaken)
        if wish.overtaken * 2 > in_turn or #passed == ${MOST_LOOKS} then return head end
        if wish.own * 2 > wish.ahead then closed[account] = true end
        passed[#passed + 1] = wish
      elseif not job or now - since > ${BACK_MS} and call('EXISTS', jobs .. ':' .. job) == 0 then
        leave_line(task)
      else
        skipped = skipped + 1
      end
    end
    local found = first_of(turns, function(account)
      return first_of(turns_of(account), function(key) return first_of(line_of(account, key), look) end)
    end) or head
    if found == nobody then
      -- Nobody near the front can use the place, so the one that asks need not wait for those behind.
      local account, _, _, _, _, job = waiter(asking or '')
      if not account then return end
      found = wish_of(asking)
      found.job = job
      return found
    end
    if found == head then return found end
    for _, wish in ipairs(passed) do
      local by = wish.account == found.account and 'own' or 'overtaken'
      wish[by] = wish[by] + 1
      keep_wish(wish)
    end
    return found
  end

  -- Slots without an owner were given to tasks that have not begun yet.
  local function places(server)
    local held = call('ZCARD', server.calls)
    local free = server.limit > 0 and server.limit - held or math.huge
    if server.rate == 0 then return free end
    local begun = call('ZCARD', server.starts) + math.max(0, held - call('HLEN', server.owners))
    return math.min(free, server.rate - begun)
  end

  -- Gives a place to the next in turn; false when nobody waits for one.
  local function give_place(server, asking)
    local next = next_task(server, asking)
    if not next then return false end
    local kept_until = now + ${KEPT_MS}
    if next.job == '' then
      kept_until = math.max(now + ${CHAT_LATE_MS}, call('ZSCORE', waits, next.task) or 0)
    end
    call('ZADD', server.calls, 'GT', kept_until, next.task)
    if call('PTTL', server.calls) < 0 then call('PEXPIRE', server.calls, ${LINE_MS}) end
    if call('HEXISTS', wishes, next.task) == 1 then
      call('HINCRBY', loaded, 'given', 1)
      call('PEXPIRE', loaded, ${LINE_MS})
    end
    note_loaded(server, next.work)
    serve(next.task)
    if next.task ~= asking and next.job ~= '' then called[#called + 1] = next.job end
    return true
  end

  -- Where nothing is limited, tasks waited for a pause to end: only 'most' go on at once, or a recovered provider would
  -- get all of them at the same moment, and the workers' slots would go to whoever waited in large numbers.
  local function give_places(server, most, asking)
    if call('EXISTS', turns) == 0 then return end
    local free = places(server)
    if free == math.huge then free = most end
    for _ = 1, free do
      if not give_place(server, asking) then return end
    end
  end

  for _, task in ipairs(call('ZRANGEBYSCORE', waits, '-inf', now)) do leave_line(task) end
`;
