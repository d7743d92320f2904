/** Has the log tell when writes begin to fail, by what, and when they work again; and the same of a replica that is read. */
import type { Parts } from "./parts.ts";

/** logTrouble returns what ends that. */
export function logTrouble({ storage, log }: Pick<Parts, "storage" | "log">): () => void {
  const { writable, database } = storage;
  const endWrites = writable.onChange(() => {
    const why = writable.trouble();
    if (why === undefined) log.info("the storage can be written again");
    else log.error({ why }, "the storage cannot be written: calls that need it are refused");
  });
  const endReplica = logReplica(database?.replica, log);
  return () => {
    endWrites();
    endReplica();
  };
}

function logReplica(replica: NonNullable<Parts["storage"]["database"]>["replica"], log: Parts["log"]): () => void {
  if (!replica) return () => {};
  const tell = () => {
    const why = replica.trouble();
    if (why === undefined) log.info("usage is read from the replica");
    else log.warn({ why }, "the replica is not used: usage is read from the primary (DATABASE_REPLICA_URL)");
  };
  tell();
  return replica.onChange(tell);
}
