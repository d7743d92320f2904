/**
 * What a node does besides its calls, over connections that are shared: merging what is due, renewing, expiring what others left,
 * recording when keys were used. None of it waits behind calls, nor they behind it.
 */
import type { BooksOptions } from "../../../money/books.ts";
import type { Row, Server, Session } from "../session.ts";
import { call } from "./call.ts";
import { expire, leave, merge, renew, touch } from "./upkeep.ts";

export interface UpkeepOptions extends Pick<BooksOptions, "node" | "onError"> {
  readonly server: Server;
  readonly version: string;
}

export interface Upkeep {
  /** Runs a statement on a shared connection. */
  run<T>(work: (session: Pick<Session, "query">) => Promise<T>): Promise<T>;
  mayLease(keyId: string, isOfKey: boolean): Promise<boolean>;
  /** Merges what is due of an account, or some of all for an empty id. Returns how much that was. */
  merge(accountId: string): Promise<number>;
  /** Merges soon, and goes on until nothing is due. */
  mergeLater(): void;
  touch(keyId: string, now: number): void;
  renew(): Promise<void>;
  expire(): Promise<number>;
  close(): Promise<void>;
}

/** How soon what is due is merged, in milliseconds. */
const mergeMs = 200;
/** How often it is recorded when keys were used. */
const touchMs = 1000;

export function createUpkeep({ server, node, version, onError }: UpkeepOptions): Upkeep {
  const uses = new Map<string, number>();
  let merging: NodeJS.Timeout | undefined;
  let touching: NodeJS.Timeout | undefined;
  let isClosed = false;

  async function run<T>(work: (session: Pick<Session, "query">) => Promise<T>): Promise<T> {
    const client = await server.pool.connect();
    try {
      return await work({ query: async (sql, values = []) => (await client.query<Row>(sql, [...values])).rows });
    } finally {
      client.release();
    }
  }

  const ask = <T>(of: Parameters<typeof call>[1], values: readonly unknown[]) =>
    run((session) => call<T>(session, of, values));

  function mergeLater(): void {
    if (isClosed) return;
    merging ??= setTimeout(() => {
      merging = undefined;
      ask<number>(merge, [""]).then((rows) => {
        if (rows > 0) mergeLater();
      }, onError);
    }, mergeMs).unref();
  }

  async function writeUses(): Promise<void> {
    touching = undefined;
    const some = [...uses].map(([id, at]) => ({ id, at }));
    uses.clear();
    if (some.length > 0) await ask(touch, [JSON.stringify(some)]);
  }

  return {
    run,
    async mayLease(keyId, isOfKey) {
      const rows = await run((session) =>
        session.query(
          "SELECT 1 FROM api_keys WHERE id = $1 AND revoked_at IS NULL AND (credit_limit IS NULL OR $2::boolean)",
          [keyId, isOfKey],
        ),
      );
      return rows.length > 0;
    },
    merge: (accountId) => ask<number>(merge, [accountId]),
    mergeLater,
    touch(keyId, now) {
      uses.set(keyId, now);
      touching ??= setTimeout(() => void writeUses().catch(onError), touchMs).unref();
    },
    async renew() {
      await ask(renew, [node, version]);
    },
    expire: () => ask<number>(expire, [node]),
    async close() {
      isClosed = true;
      clearTimeout(merging);
      clearTimeout(touching);
      await writeUses().catch(onError);
      await ask(leave, [node]).catch(onError);
      while ((await ask<number>(merge, [""]).catch(() => 0)) > 0);
    },
  };
}
