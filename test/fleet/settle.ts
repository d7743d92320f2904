/**
 * Has the fleet come to rest. Its nodes end in good order, and start once more to write what those before them have left on their disks;
 * a minute and a half passes for the holds of dead nodes, by moving their deadlines; and `model-gateway reconcile` proves the sums.
 */
import { createLeasedLedger } from "../../src/ledger/leases/leased-ledger.ts";
import { modelGateway } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { query } from "../support/storage/postgres.ts";
import { bucketsOf, type Left } from "./buckets.ts";
import type { Stage } from "./stage.ts";

export interface CallRow {
  readonly id: string;
  readonly account_id: string;
  readonly key_id: string;
  readonly operation: string;
  readonly outcome: number;
  readonly input: number;
  readonly output: number;
  readonly cost: number;
  readonly waived: number;
}

export interface Settled {
  /** How the nodes ended. */
  readonly exitCodes: readonly (number | null)[];
  /** Holds that had outlived their deadline by a minute and a half, while nodes served. */
  readonly overdue: number;
  readonly rows: readonly CallRow[];
  readonly accounts: ReadonlyMap<
    string,
    { readonly balance: number; readonly held: number; readonly credited: number }
  >;
  readonly keys: ReadonlyMap<string, { readonly spent: number; readonly held: number }>;
  readonly holds: number;
  /** What accounts have left of their rates. */
  readonly left: ReadonlyMap<string, Left>;
  readonly proof: { readonly code: number | null; readonly text: string };
}

const holdMs = 90_000;

export async function settle(stage: Stage): Promise<Settled> {
  const { databaseUrl: url, nodes, redis, storage } = stage;
  const left = await bucketsOf(stage);
  const [late] = await query(url, `SELECT count(*) AS count FROM holds WHERE expires_at < now_ms() - ${holdMs}`);
  const exitCodes = await Promise.all(nodes.map((node) => node.stop()));
  await query(url, `UPDATE nodes SET alive_until = alive_until - ${holdMs}`);
  await query(url, `UPDATE holds SET expires_at = expires_at - ${holdMs}`);
  await Promise.all(nodes.map((node) => node.start()));
  await Promise.all(nodes.map((node) => node.stop()));
  await expireAll(stage);
  for (const { id } of stage.accounts) await storage.recall(id);
  const env = { DATABASE_URL: url, REDIS_URL: redis.url };
  const { code, stdout, stderr } = await modelGateway(["reconcile", "--full", "--config", stage.config], env);
  return {
    exitCodes,
    overdue: Number(late?.count),
    left,
    proof: { code, text: stdout + stderr },
    ...(await readAll(url)),
  };
}

/** Ends what dead nodes held, as a node does that has been there for half a minute. */
async function expireAll({ storage, databaseUrl: url }: Stage): Promise<void> {
  const onError = (error: unknown) => console.error(error);
  const ledger = createLeasedLedger({ openBooks: storage.openBooks(true), clock: Date.now, onError });
  await ledger.sweep();
  await query(url, "UPDATE nodes SET steady_since = 0 WHERE alive_until > now_ms()");
  await eventually(async () => {
    await ledger.sweep();
    const [row] = await query(url, "SELECT count(*) AS count FROM holds WHERE expires_at <= now_ms()");
    if (Number(row?.count) > 0) throw new Error(`${row?.count} holds have not expired`);
  });
  await ledger.close();
}

async function readAll(url: string): Promise<Pick<Settled, "rows" | "accounts" | "keys" | "holds">> {
  const rows = await query(
    url,
    "SELECT id, account_id, key_id, operation, outcome, input, output, cost, waived FROM requests ORDER BY id",
  );
  const accounts = await query(
    url,
    `SELECT id, balance, held, (SELECT coalesce(sum(amount), 0) FROM ledger_entries e WHERE e.account_id = a.id) AS credited
     FROM accounts a`,
  );
  const keys = await query(url, "SELECT id, spent, held FROM api_keys");
  const [holds] = await query(url, "SELECT count(*) AS count FROM holds");
  return {
    rows: rows as unknown as readonly CallRow[],
    accounts: new Map(accounts.map(({ id, ...sums }) => [id, sums])) as unknown as Settled["accounts"],
    keys: new Map(keys.map(({ id, ...sums }) => [id, sums])) as unknown as Settled["keys"],
    holds: Number(holds?.count),
  };
}
