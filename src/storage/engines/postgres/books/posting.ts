/**
 * Posts batches of records of a node.
 *
 * The database remembers the number of the last record that it has of the node, and takes a batch only behind the one that this process
 * believes to be the last. So a batch of which nobody knows whether it was written, for the connection broke, is sent again without
 * doubt: what is written changes nothing, and what is not is written now.
 */
import { codeOf, isFault } from "../../../../runtime/write-trouble.ts";
import type { JournalRecord } from "../../../money/books.ts";
import type { BudgetTerms } from "../../../money/budgets.ts";
import type { Session } from "../session.ts";
import { aloneOf, batchOf } from "./batch.ts";
import { call } from "./call.ts";
import { notCovered, write } from "./functions/write.ts";
import { writeAlone } from "./functions/write-alone.ts";

export type Post = (session: Session, records: readonly JournalRecord[]) => Promise<void>;

/** createPosting posts batches behind the last number that the database is known to have of a node. */
export function createPosting(node: string): { readonly post: Post } {
  let posted: number | undefined;

  async function post(session: Session, records: readonly JournalRecord[]): Promise<void> {
    for (;;) {
      posted ??= await postedOf(session, node);
      const open = records.filter(({ seq }) => seq > (posted ?? 0));
      const last = open.at(-1);
      if (!last) return;
      const from = posted;
      // Until it is answered nobody knows.
      posted = undefined;
      if (await postAll(session, node, from, last.seq, open)) {
        posted = last.seq;
        return;
      }
    }
  }

  return { post };
}

async function postedOf(session: Session, node: string): Promise<number> {
  const [row] = await session.query("SELECT posted FROM journals WHERE node = $1", [node]);
  return (row?.posted as number | undefined) ?? 0;
}

/** postAll returns false where the database has other records of the node than it was believed to have. */
async function postAll(session: Session, node: string, from: number, to: number, records: readonly JournalRecord[]) {
  try {
    return await call<boolean>(session, write, [node, from, to, ...batchOf(records)]);
  } catch (error) {
    if (codeOf(error) !== notCovered && !isFault(error)) throw error;
  }
  const terms = await termsOf(session, records);
  return (await call<number | null>(session, writeAlone, [node, from, to, ...aloneOf(records, terms)])) !== null;
}

/** termsOf reads the budgets that bound what calls are charged beyond their holds, by the ids of their keys. */
async function termsOf(session: Session, records: readonly JournalRecord[]): Promise<ReadonlyMap<string, BudgetTerms>> {
  const keys = new Set(
    records.flatMap(({ entries }) => entries.flatMap((one) => (one.kind === "settle" ? [one.call.key_id] : []))),
  );
  const rows = await session.query(selectTerms, [[...keys]]);
  return new Map(
    rows.map(({ id, zone, of_account: ofAccount, of_key: ofKey }) => [
      id as string,
      { zone, ofAccount, ofKey } as BudgetTerms,
    ]),
  );
}

const selectTerms = `SELECT k.id, a.time_zone AS zone, a.budgets AS of_account, k.budgets AS of_key
  FROM api_keys k JOIN accounts a ON a.id = k.account_id
  WHERE k.id = ANY ($1) AND (a.budgets IS NOT NULL OR k.budgets IS NOT NULL)`;
