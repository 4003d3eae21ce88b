/** Keeps a step finite. */
const SMALLEST_WEIGHT = 1 / 64;

/**
 * Turns, as Lua text for the scripts of the two fair lines: that of the image queue (`fair-scripts`), and that of each
 * provider (`routing/provider-line`). In both, accounts take turns, and within an account its keys.
 *
 * A turn is `the one being served, or one's own last if that is later, and a step of 1/weight`. So whoever is new, or
 * comes back, has neither credit nor debt, and who weighs twice as much is served twice as often.
 *
 * The queue takes a turn for each task when it is accepted, because BullMQ wants to know a job's priority when it is
 * added. A provider's line lets each account and each key take one turn at a time, because its tasks leave and come back
 * all the time: turns that were taken for them in advance would be a debt.
 *
 * `hash` keeps turns: `now` is the field of the one being served.
 */
export const TURNS = `
  local call = redis.call
  local function exact(turn) return string.format('%.6f', turn) end
  local function turn_in(hash, who) return tonumber(call('HGET', hash, who)) or 0 end
  -- 'last': its last turn, if it may be a later one than that being served.
  local function turn_after(hash, now, weight, last, round)
    return math.max(turn_in(hash, now), last or 0) + (round or 1) / math.max(${SMALLEST_WEIGHT}, tonumber(weight))
  end
  local function begin_turn(hash, now, turn)
    if tonumber(turn) > turn_in(hash, now) then call('HSET', hash, now, turn) end
  end
  local function return_turn(hash, who, step)
    if call('HEXISTS', hash, who) == 1 then call('HINCRBYFLOAT', hash, who, '-' .. step) end
  end
`;
