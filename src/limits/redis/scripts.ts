/**
 * The scripts that Redis runs. Each touches one key, and reads Redis's own clock: what nodes believe the time to be counts for nothing. That
 * clock may be set back, or be another's after a failover: a moment that is further ahead than any was written counts for nothing, either.
 */
import { createHash } from "node:crypto";
import { spareParts } from "../contract.ts";
import { placesMs } from "../place-shares.ts";

export interface Script {
  readonly text: string;
  /** sha is what Redis knows the script by. */
  readonly sha: string;
}

const script = (text: string): Script => ({ text, sha: createHash("sha1").update(text).digest("hex") });

const nowText = "local time = redis.call('TIME') local now = time[1] * 1000 + math.floor(time[2] / 1000)";

/**
 * takeScript answers an Ask of the bucket at the key: capacity, windowMs, least, need, spare, drawn. Returns units and parts, as a Slice has
 * them.
 *
 * A bucket is a text: its parts, the moment, its capacity and its window. A full bucket is no key, and a key expires when its bucket is
 * full. A value that is no bucket counts as none. One whose moment is to come is refilled from now on.
 */
export const takeScript = script(`
local capacity, window = tonumber(ARGV[1]), tonumber(ARGV[2])
local least, need, spare, drawn = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local full = capacity * window
${nowText}
local text = redis.pcall('GET', KEYS[1])
local parts, isAhead = full, false
if type(text) == 'string' then
  local held, at, c, w = string.match(text, '^(%-?%d+) (%d+) (%d+) (%d+)$')
  if held then
    c, w = tonumber(c), tonumber(w)
    isAhead = tonumber(at) > now
    parts = math.min(c * w, tonumber(held) + math.max(0, now - tonumber(at)) * c)
    if c ~= capacity or w ~= window then
      if parts < 0 then parts = math.floor(parts / w * window + 0.5)
      else parts = math.floor(parts / (c * w) * full + 0.5) end
    end
  end
end
parts = math.min(full, math.max(-full, parts - drawn * window))
local held = math.max(0, math.floor(parts / window))
local units = 0
if held >= least then
  units = math.min(held, math.max(need, math.min(need + spare, math.floor(held / ${spareParts}))))
end
parts = parts - units * window
if units ~= 0 or drawn ~= 0 or isAhead then
  if parts >= full then redis.call('DEL', KEYS[1])
  else
    local value = string.format('%.0f %.0f %.0f %.0f', parts, now, capacity, window)
    redis.call('SET', KEYS[1], value, 'PX', string.format('%.0f', math.ceil((full - parts) / capacity)))
  end
end
return { units, parts }`);

/**
 * nodesScript notes in the set at the key that a node lives, for some milliseconds from now: node, milliseconds. 0 milliseconds: no longer.
 * Returns how many live. What needs memory comes first: a script that has written may go on when memory is full, and then a beat would
 * succeed where takes fail.
 */
export const nodesScript = script(`
${nowText}
local ms = tonumber(ARGV[2])
if ms > 0 then
  redis.call('ZADD', KEYS[1], now + ms, ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ms)
else redis.call('ZREM', KEYS[1], ARGV[1]) end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if ms > 0 then redis.call('ZREMRANGEBYSCORE', KEYS[1], string.format('(%.0f', now + ms), '+inf') end
return redis.call('ZCARD', KEYS[1])`);

/**
 * placesScript answers a PlacesAsk of the places at the key, as `grantPlaces` does: node, places, running, wanted, and 1 for a trial.
 * Returns granted and whether they are short. Each field is a node's lease: held, wanted, since, until.
 *
 * A lease that ends later than one that is written now is from before the clock was set back. Its node may live, and use the places: so it
 * lasts for as long as a new one.
 */
export const placesScript = script(`
local node, places, running, wanted = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
${nowText}
local held, since, wishes, all = 0, now, {}, { wanted }
local leases = redis.call('HGETALL', KEYS[1])
for i = 1, #leases, 2 do
  local h, w, s, u = string.match(leases[i + 1], '^(%d+) (%d+) (%d+) (%d+)$')
  h, w, s, u = tonumber(h), tonumber(w), tonumber(s), tonumber(u)
  if h and u > now + ${placesMs} then
    s, u = math.min(s, now), now + ${placesMs}
    redis.call('HSET', KEYS[1], leases[i], string.format('%.0f %.0f %.0f %.0f', h, w, s, u))
  end
  if not h or u <= now then redis.call('HDEL', KEYS[1], leases[i])
  elseif leases[i] == node then if w > h then since = s end
  else
    held = held + h
    wishes[#wishes + 1] = { w, s }
    all[#all + 1] = w
  end
end
if ARGV[5] == '1' then
  local granted = math.max(running, math.min(wanted, places - held))
  if granted > 0 then
    redis.call('HSET', KEYS[1], node, string.format('%.0f %.0f %.0f %.0f', granted, granted, now, now + ${placesMs}))
    redis.call('PEXPIRE', KEYS[1], ${placesMs})
  else redis.call('HDEL', KEYS[1], node) end
  return { granted, granted < wanted and 1 or 0 }
end
table.sort(all)
local left, sharing = places, #all
for _, w in ipairs(all) do
  if w * sharing > left then break end
  left, sharing = left - w, sharing - 1
end
local share, short = wanted, 0
if sharing > 0 then
  local equal, earlier = math.floor(left / sharing), 0
  for _, wish in ipairs(wishes) do
    if wish[1] > equal and wish[2] < since then earlier = earlier + 1 end
  end
  share, short = equal, 1
  if earlier < left - equal * sharing then share = equal + 1 end
end
local granted = math.max(running, math.min(wanted, share, places - held))
if wanted > 0 then
  if granted > running or granted >= wanted then since = now end
  local lease = string.format('%.0f %.0f %.0f %.0f', granted, wanted, since, now + ${placesMs})
  redis.call('HSET', KEYS[1], node, lease)
  redis.call('PEXPIRE', KEYS[1], ${placesMs})
else redis.call('HDEL', KEYS[1], node) end
return { granted, short }`);
