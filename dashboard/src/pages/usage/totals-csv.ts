/** Writes the totals of groups of calls as CSV: RFC 4180, by the names of the public API, money in units. */
import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import type { RequestTotals } from "../../../../gen/modelgateway/v1/usage_pb.ts";
import { writeAmount } from "../../parts/amount.ts";

interface Options {
  readonly groups: readonly RequestTotals[];
  /** by is what the calls are grouped by, as `account`. */
  readonly by: string;
  readonly nameOf: (group: string) => string;
  readonly from: Timestamp;
  readonly to: Timestamp;
  /** unit is the code of the unit of money. */
  readonly unit: string;
}

const counts = {
  input_tokens: "inputTokens",
  cache_read_tokens: "cacheReadTokens",
  cache_write_tokens: "cacheWriteTokens",
  output_tokens: "outputTokens",
  characters: "characters",
} as const;
const head = [
  ...["group_by", "group", "name", "from", "to", "requests", "errors", "cached"],
  ...[...Object.keys(counts), "cost", "unit"],
];

/** totalsCsv returns the whole file, a line for each group. */
export function totalsCsv({ groups, by, nameOf, from, to, unit }: Options): string {
  const times = [from, to].map((at) => timestampDate(at).toISOString());
  const rows = groups.map(({ group, requests, errors, cached, usage, cost }) => [
    ...[by, group, nameOf(group), ...times, requests, errors, cached],
    ...Object.values(counts).map((count) => usage?.[count] ?? 0n),
    ...[writeAmount(cost), unit],
  ]);
  return [head, ...rows].map((cells) => `${cells.map(cellOf).join(",")}\r\n`).join("");
}

/**
 * formulas are the places before what a spreadsheet would evaluate, as requests.csv of the gateway has them: behind what is passed over at
 * the beginning of a cell, also where semicolons or tabs part cells. Names are what people make up: an apostrophe goes there.
 */
const formulas =
  /(^|[;\t\r\n])((?:(?!\n)[\p{White_Space}\p{Cc}\p{Cf}"])*?)(?=[=+\-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b\u207c\u207a\u207b\u208c\u208a\u208b\t\r])/gu;

function cellOf(cell: string | bigint): string {
  if (typeof cell === "bigint") return String(cell);
  const safe = cell.replace(formulas, "$1$2'");
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
