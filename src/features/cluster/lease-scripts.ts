/** The scripts that lease calls of a shared limit from the store: a token bucket, or a quota of each window. */
import type { StoreScript } from "../../core/shared-store.js";

/**
 * Another replica that comes back to the store within this time (ms) after the first one is still spending its share:
 * until then the bucket refills by the shares of those that are back.
 */
export const RETURN_MS = 1_000;
/** Between two counts of a bucket that is in use there may be this time (ms) without an outage. */
const PAUSE_MS = 250;

/**
 * KEYS[1]: the bucket. ARGV: capacity, tokens per ms, wanted, replicas; spent without a lease, unspent of the own share,
 * own tokens per ms, how long the share counted (ms) and how long ago that ended (0 if each replica counts separately);
 * the tokens that this replica saw last, and when; the time after which nothing is done, as the replica has not waited: a
 * store that was stopped runs what it had received when it continues.
 *
 * An outage is time in which shares counted: the bucket does not refill, and gets what the shares have left. Shares
 * cannot exceed the limit together, so that nothing is owed. What a replica spent of its share while the bucket refilled
 * for all is deducted, up to one capacity.
 *
 * A bucket that is missing, or older than a replica has seen it, was lost by the store: it has at most what each replica
 * saw last, and its refill since.
 *
 * Returns the granted number and the ms until there is more, the tokens and the time, by the clock of the store; or -1 and
 * the time if it is too late.
 */
export const LEASE_RATE: StoreScript = {
  name: "lease.rate",
  text: `local t = redis.call('TIME')
local now = t[1] * 1000 + t[2] / 1000
local late = tonumber(ARGV[12])
if late and now > late then return {-1, math.floor(now)} end
local capacity, per = tonumber(ARGV[1]), tonumber(ARGV[2])
local spent, unspent, own = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local alone, ago = tonumber(ARGV[8]), tonumber(ARGV[9])
local seen, seenAt = tonumber(ARGV[10]), tonumber(ARGV[11])
local kept = redis.call('HMGET', KEYS[1], 'tokens', 'at', 'born', 'from', 'ended', 'back')
local tokens, at, born = tonumber(kept[1]), tonumber(kept[2]), tonumber(kept[3]) or 0
local from, ended, back = tonumber(kept[4]), tonumber(kept[5]), tonumber(kept[6]) or 0
if seen and (not at or at < seenAt) then
  tokens, at, born, from = math.min(tokens or capacity, seen), seenAt, math.floor(now), nil
elseif not at then
  tokens, at, born = capacity, now - alone - ago, math.floor(now)
elseif seen and born > seenAt then
  tokens = math.min(tokens, seen + (now - seenAt) * per)
end
at = math.min(at, now)
if from and (from > now or ended > now) then from = nil end
local function fill(till)
  local ms = math.max(0, till - at)
  if from and back < 0.999 then
    ms = ms - (1 - back) * math.max(0, math.min(till, ended + ${RETURN_MS}) - math.max(at, ended))
  end
  tokens = math.min(capacity, tokens + ms * per)
  at = math.max(at, till)
end
if alone > 0 then
  local stop = now - ago
  local start = stop - alone
  local isKnown = from and start < ended and stop <= ended + ${RETURN_MS}
  if at < stop and spent > 0 and not isKnown then
    local gap = math.max(at, start)
    fill(gap)
    tokens = math.min(tokens, math.max(0, capacity - (stop - gap) * per))
    from, ended, back, at = gap, stop, 0, stop
    if stop - gap < ${PAUSE_MS} then back = 1 end
  end
  fill(stop)
  local double = alone
  if from then
    local late = ended
    if back < 1 then late = ended + ${RETURN_MS} end
    double = alone - math.max(0, math.min(stop, late) - math.max(start, from))
    back = back + own / per
  end
  tokens = math.max(-capacity, tokens + math.max(-spent, unspent - own * double))
elseif spent > 0 then
  local owed = math.min(tokens, 0)
  fill(now)
  tokens = math.max(owed, tokens - spent)
end
fill(now)
local granted = 0
if tokens >= 1 then
  granted = math.min(tonumber(ARGV[3]), math.max(1, math.floor(tokens / (2 * tonumber(ARGV[4])))))
end
tokens = tokens - granted
local fields = {'tokens', string.format('%.6f', tokens), 'at', string.format('%.3f', now), 'born', born}
if from then
  for _, field in ipairs({'from', string.format('%.3f', from), 'ended', string.format('%.3f', ended), 'back', string.format('%.6f', back)}) do
    fields[#fields + 1] = field
  end
else
  redis.call('HDEL', KEYS[1], 'from', 'ended', 'back')
end
redis.call('HSET', KEYS[1], unpack(fields))
redis.call('PEXPIRE', KEYS[1], math.ceil((capacity - tokens) / per) + 60000)
local wait = 0
if granted == 0 then wait = math.max(1, math.ceil((1 - tokens) / per)) end
return {granted, wait, string.format('%.6f', tokens), math.floor(now)}`,
};

/**
 * The same for a quota: a window starts with its first call. KEYS[1]: the calls used in the window. ARGV: calls per
 * window, ms of a window, wanted, replicas; as above what was spent without a lease, by how many calls more than the own
 * part of the rate at most, that part per ms, how long it counted and how long ago that ended; the calls used that this
 * replica saw last, and the end of their window; the time after which nothing is done.
 *
 * What was spent before the window began does not count in it. A window that the store lost continues.
 *
 * Returns the granted number, the ms until there is more, the ms until the window ends, the calls used, and the end of
 * the window by the clock of the store; or -1 and the time if it is too late.
 */
export const LEASE_QUOTA: StoreScript = {
  name: "lease.quota",
  text: `local t = redis.call('TIME')
local now = t[1] * 1000 + t[2] / 1000
local late = tonumber(ARGV[12])
if late and now > late then return {-1, math.floor(now)} end
local count, window = tonumber(ARGV[1]), tonumber(ARGV[2])
local spent, burst, own = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local alone, ago = tonumber(ARGV[8]), tonumber(ARGV[9])
local seen, seenEnd = tonumber(ARGV[10]), tonumber(ARGV[11])
local left = redis.call('PTTL', KEYS[1])
if left < 0 then
  left = window
  local used = 0
  if seen and seenEnd - now >= 1 and seenEnd - now <= window then
    left = math.floor(seenEnd - now)
    used = seen
  end
  redis.call('SET', KEYS[1], used, 'PX', left)
end
local used = tonumber(redis.call('GET', KEYS[1]))
if spent > 0 then
  local stop = now - ago
  local began = now + left - window
  if began <= stop - alone then
    used = used + spent
  elseif began < stop then
    used = used + math.min(spent, math.ceil(burst + own * (stop - began)))
  end
end
local rest = count - used
local granted = 0
if rest >= 1 then
  granted = math.min(tonumber(ARGV[3]), math.max(1, math.floor(rest / (2 * tonumber(ARGV[4])))))
end
used = used + granted
redis.call('SET', KEYS[1], used, 'KEEPTTL')
return {granted, granted == 0 and left or 0, left, used, math.floor(now + left)}`,
};

/** Returns ARGV[1] calls: to a bucket of at most ARGV[2], or, if that is 0, to the window of a quota. */
export const GIVE_BACK: StoreScript = {
  name: "lease.return",
  text: `if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
local count, capacity = tonumber(ARGV[1]), tonumber(ARGV[2])
if capacity > 0 then
  local tokens = tonumber(redis.call('HGET', KEYS[1], 'tokens')) or 0
  redis.call('HSET', KEYS[1], 'tokens', string.format('%.6f', math.min(capacity, tokens + count)))
else
  redis.call('SET', KEYS[1], math.max(0, tonumber(redis.call('GET', KEYS[1])) - count), 'KEEPTTL')
end
return 1`,
};
