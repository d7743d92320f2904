/**
 * Has the log tell when writes begin to fail, by what, and when they work again; and the same of a replica that is read. Work that is tried
 * again and again while that lasts has a line a minute, whatever its tries.
 */
import type { Logger } from "pino";
import { troubleOf } from "../runtime/write-trouble.ts";
import type { Storage } from "../storage/storage.ts";

/** againMs is how often the same failure has a line, in milliseconds. */
const againMs = 60_000;
/** maxKnown is how many failures are known by their messages; one beyond is told. */
const maxKnown = 50;

/**
 * logFailures returns what tells of a failure of work that goes on. Trouble that may pass has no stack, for it lies outside. A failure that
 * repeats has a line a minute, with `repeated`, the number of those between.
 */
export function logFailures(
  log: Pick<Logger, "error">,
  message: string,
  now: () => number = () => performance.now(),
): (error: unknown) => void {
  const known = new Map<string, { at: number; repeated: number }>();
  return (error) => {
    const trouble = troubleOf(error);
    const name = trouble ?? String(error);
    const last = known.get(name);
    const at = now();
    if (last && at - last.at < againMs) {
      last.repeated++;
      return;
    }
    if (!last && known.size >= maxKnown) known.clear();
    known.set(name, { at, repeated: 0 });
    const repeated = last?.repeated ? { repeated: last.repeated } : {};
    log.error(trouble ? { why: (error as Error).message, ...repeated } : { err: error, ...repeated }, message);
  };
}

/** logTrouble returns what ends that. */
export function logTrouble({ storage, log }: { readonly storage: Storage; readonly log: Logger }): () => void {
  const { writable, database } = storage;
  const endWrites = writable.onChange(() => {
    const why = writable.trouble();
    if (why === undefined) log.info("the storage can be written again");
    else log.error({ why }, "the storage cannot be written: calls that need it are refused");
  });
  const endReplica = logReplica(database?.replica, log);
  const endClock = database && logClock(database.now, log);
  return () => {
    endWrites();
    endReplica();
    endClock?.();
  };
}

/** clockMs is how often the clock is looked at, in milliseconds. */
const clockMs = 60_000;

/** logClock tells when this machine's clock is found wrong, and when it is right again. */
function logClock(now: () => number, log: Logger): () => void {
  let isWrong = false;
  const look = () => {
    const ahead_ms = Date.now() - now();
    if (isWrong === Math.abs(ahead_ms) > 1000) return;
    isWrong = !isWrong;
    if (isWrong) log.warn({ ahead_ms }, "this machine's clock differs from the database's, which counts. Set it right");
    else log.info("this machine's clock is the database's again");
  };
  look();
  const timer = setInterval(look, clockMs).unref();
  return () => clearInterval(timer);
}

function logReplica(replica: NonNullable<Storage["database"]>["replica"], log: Logger): () => void {
  if (!replica) return () => {};
  const tell = () => {
    const why = replica.trouble();
    if (why === undefined) log.info("usage is read from the replica");
    else log.warn({ why }, "the replica is not used: usage is read from the primary (DATABASE_REPLICA_URL)");
  };
  tell();
  return replica.onChange(tell);
}
