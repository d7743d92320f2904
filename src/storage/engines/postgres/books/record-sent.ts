/**
 * Has calls that a dead node sent recorded as lost, where the database knows nothing of them: by holds of nothing that have expired
 * already. What the node has spooled is written before.
 */
import { removeSentLog, type SentLogOptions, sentCalls } from "../../../journal/sent-log.ts";
import type { Session } from "../session.ts";

/** atOnce is how many calls are asked about at once. */
const atOnce = 5000;

export async function recordSent(
  session: Pick<Session, "query">,
  log: Pick<SentLogOptions, "folder" | "node" | "database">,
): Promise<void> {
  const calls = sentCalls(log).map(
    ({ requestId: i, accountId: a, keyId: k, operation: o, model: m, createdAt: t }) => ({ i, a, k, o, m, t }),
  );
  for (let from = 0; from < calls.length; from += atOnce)
    await session.query(insertUnknown, [log.node, JSON.stringify(calls.slice(from, from + atOnce))]);
  removeSentLog(log);
}

const insertUnknown = `INSERT INTO holds (request_id, node, account_id, key_id, operation, model, amount, created_at, expires_at)
  SELECT DISTINCT ON (s.i) s.i, $1, s.a, s.k, s.o, s.m, 0, s.t, now_ms()
  FROM json_to_recordset($2::json) AS s(i text, a text, k text, o text, m text, t bigint)
  WHERE NOT EXISTS (SELECT 1 FROM requests r WHERE r.id = s.i)
    AND s.i COLLATE "C" >= coalesce((SELECT id FROM kept_from WHERE kind = 'requests'), '')
  ON CONFLICT (request_id) DO NOTHING`;
