/** What the store does with the records of sessions, each in one step. Owners are compared as the texts that they are kept as. */
import type { StoreScript } from "../../core/shared-store.js";

/** Writes ARGV[2] if the owner is ARGV[1], ARGV[4] or absent. */
export const WRITE: StoreScript = {
  name: "session.write",
  text: `local owner = redis.call('HGET', KEYS[1], 'owner')
if owner and owner ~= ARGV[1] and owner ~= ARGV[4] then return owner end
redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'record', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return ARGV[1]`,
};

/** Renews a record of the owner ARGV[1]. */
export const RENEW: StoreScript = {
  name: "session.renew",
  text: `local owner = redis.call('HGET', KEYS[1], 'owner')
if owner == ARGV[1] then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return owner or ''`,
};

/** Owner and record. */
export const READ: StoreScript = {
  name: "session.read",
  text: "return redis.call('HMGET', KEYS[1], 'owner', 'record')",
};

/** Makes ARGV[2] the owner instead of ARGV[1]; returns the current owner. */
export const PASS: StoreScript = {
  name: "session.pass",
  text: `local owner = redis.call('HGET', KEYS[1], 'owner')
if owner ~= ARGV[1] then return owner or '' end
redis.call('HSET', KEYS[1], 'owner', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return ARGV[2]`,
};

/** Deletes the record of the owner ARGV[1]. */
export const REMOVE: StoreScript = {
  name: "session.remove",
  text: `if redis.call('HGET', KEYS[1], 'owner') == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`,
};
