/**
 * Streams the filtered calls as CSV: yields the number of rows so far, and finally the file. The gateway's export does
 * not filter by outcome; that is done here, row by row.
 */
import type { Client } from "@connectrpc/connect";
import type { UsageService } from "../../../../gen/modelgateway/v1/usage_pb.ts";
import { filterOf } from "../../parts/request-choice.ts";
import type { RequestSearch } from "../../search.ts";

interface Options {
  readonly client: Client<typeof UsageService>;
  readonly search: RequestSearch;
  readonly signal: AbortSignal;
  readonly onRows: (count: number) => void;
}

export async function exportRequests({ client, search, signal, onRows }: Options): Promise<Blob> {
  const { outcomes: _, ...filter } = filterOf(search);
  const decoder = new TextDecoder();
  const kept: string[] = [];
  let head: string | undefined;
  let rows = 0;
  for await (const { csv } of client.exportRequests(filter, { signal })) {
    if (!csv) continue;
    const [first, ...others] = recordsOf(decoder.decode(csv, { stream: true }));
    const records = head === undefined ? others : [first ?? "", ...others];
    head ??= first ?? "";
    if (kept.length === 0) kept.push(head);
    const chosen = records.filter(keeping(search.outcome, head));
    kept.push(chosen.join(""));
    rows += chosen.length;
    onRows(rows);
  }
  return new Blob(kept, { type: "text/csv;charset=utf-8" });
}

/**
 * recordsOf splits CSV into records with their line ends; line ends within quotes do not count. Source: RFC 4180,
 * section 2.
 */
function recordsOf(csv: string): string[] {
  return csv.match(/(?:"[^"]*"|[^"\n])+\n/g) ?? [];
}

function keeping(outcome: string | undefined, head: string): (record: string) => boolean {
  if (outcome === undefined) return () => true;
  const column = cellsOf(head).indexOf("outcome");
  return (record) => cellsOf(record)[column] === outcome;
}

function cellsOf(record: string): string[] {
  return record.trimEnd().match(/(?<=^|,)(?:"(?:[^"]|"")*"|[^,]*)/g) ?? [];
}
