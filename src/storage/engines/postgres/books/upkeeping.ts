/**
 * Does what a node has to do besides its calls, over connections that are shared: merging what is due, renewing, expiring what others left,
 * recording when keys were used. None of it waits behind calls, nor they behind it.
 */
import { counted } from "../../../../runtime/words/counted.ts";
import type { BooksOptions } from "../../../money/books.ts";
import { onPool } from "../on-pool.ts";
import type { Server, Session } from "../session.ts";
import { call } from "./call.ts";
import type { BooksFunction } from "./functions/function.ts";
import { leave } from "./functions/leases.ts";
import { expire, merge, renew, touch } from "./functions/upkeep.ts";

export interface UpkeepOptions extends Pick<BooksOptions, "node" | "onError" | "holding"> {
  readonly server: Server;
  readonly version: string;
  /** configuration returns the name of the configuration in force: its version, a colon, and what it says. */
  readonly configuration?: (() => string) | undefined;
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

/** mergeMs is how soon what is due is merged, in milliseconds. */
const mergeMs = 200;
/** touchMs is how often it is recorded when keys were used. */
const touchMs = 1000;

export function createUpkeep(options: UpkeepOptions): Upkeep {
  const { server, node, version, configuration = () => "", onError, holding } = options;
  const run: Upkeep["run"] = (work) => onPool(server, work);
  const ask = <T>(of: BooksFunction, values: readonly unknown[]) => run((session) => call<T>(session, of, values));
  const mergeOf = (accountId: string) => ask<number>(merge, [accountId]);
  const merging = later(mergeMs, onError, () => mergeOf(""));
  const compare = createCompare(options);
  const uses = createUses(onError, (some) => ask(touch, [JSON.stringify(some)]));

  return {
    run,
    async mayLease(keyId, isOfKey) {
      const rows = await run((session) => session.query(mayLeaseSql, [keyId, isOfKey]));
      return rows.length > 0;
    },
    merge: mergeOf,
    mergeLater: merging.start,
    touch: uses.add,
    async renew() {
      const name = configuration();
      await ask(renew, [node, version, name, holding?.() ?? null]);
      if (name !== "") await run((session) => compare(session, name));
    },
    expire: () => ask<number>(expire, [node]),
    async close() {
      merging.stop();
      await uses.close();
      await ask(leave, [node]).catch(onError);
      while ((await mergeOf("").catch(() => 0)) > 0);
    },
  };
}

const mayLeaseSql = `SELECT 1 FROM api_keys k JOIN accounts a ON a.id = k.account_id
  WHERE k.id = $1 AND k.revoked_at IS NULL AND (k.credit_limit IS NULL OR $2::boolean) AND k.budgets IS NULL AND a.budgets IS NULL`;

/**
 * createCompare tells once that nodes that live have another configuration, and again where that was mended meanwhile: at once of those
 * with the same version, whose files differ; of those with another version once they have kept it for a while, for a change takes each node
 * a moment.
 */
function createCompare({ node, onError }: UpkeepOptions) {
  let isTold = false;
  let looks = 0;
  return async (session: Pick<Session, "query">, name: string): Promise<void> => {
    const [row] = await session.query(countOthers, [node, name]);
    const [nodes, unlike, behind] = [row?.nodes, row?.unlike, row?.behind].map(Number) as [number, number, number];
    looks = behind > 0 ? looks + 1 : 0;
    const others = unlike + (looks >= patience ? behind : 0);
    if (others > 0 && !isTold) {
      const remedy =
        unlike > 0 ? "Give all nodes the same gateway.yaml" : "Their logs say why they do not take the newest version";
      onError(
        new Error(
          `${others} of ${counted(nodes, "other node")} ${others === 1 ? "has" : "have"} another configuration: each call has the models, ` +
            `prices and rates of the node that it comes to. ${remedy}`,
        ),
      );
    }
    isTold = others > 0;
  };
}

/** patience is at how many looks in a row a node has to have another version. */
const patience = 4;

const countOthers = `SELECT count(*) AS nodes,
    count(*) FILTER (WHERE version_of = split_part($2, ':', 1) AND configuration <> $2) AS unlike,
    count(*) FILTER (WHERE version_of <> split_part($2, ':', 1)) AS behind
  FROM (SELECT configuration, split_part(configuration, ':', 1) AS version_of FROM nodes
    WHERE alive_until > now_ms() AND node <> $1 AND configuration <> '') AS others`;

/** Does work after a while, and again for as long as there was something to do. */
function later(ms: number, onError: (error: unknown) => void, work: () => Promise<number>) {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  function start(): void {
    if (isOver) return;
    timer ??= setTimeout(() => {
      timer = undefined;
      work().then((count) => {
        if (count > 0) start();
      }, onError);
    }, ms).unref();
  }
  return {
    start,
    stop() {
      isOver = true;
      clearTimeout(timer);
    },
  };
}

interface Use {
  readonly id: string;
  readonly at: number;
}

/** createUses gathers when keys were used. */
function createUses(onError: (error: unknown) => void, write: (uses: readonly Use[]) => Promise<unknown>) {
  const uses = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;
  async function writeAll(): Promise<void> {
    timer = undefined;
    const some = [...uses].map(([id, at]) => ({ id, at }));
    uses.clear();
    if (some.length > 0) await write(some).catch(onError);
  }
  return {
    add(keyId: string, now: number): void {
      uses.set(keyId, now);
      timer ??= setTimeout(() => void writeAll(), touchMs).unref();
    },
    close(): Promise<void> {
      clearTimeout(timer);
      return writeAll();
    },
  };
}
