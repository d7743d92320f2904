/**
 * Calls as a table of comma-separated values: RFC 4180, with a head line, money as decimals in units.
 *
 * Spreadsheets take what begins like a formula for one, and names come from outside: such a cell begins with an
 * apostrophe instead.
 */
import { getOption } from "@bufbuild/protobuf";
import { OutcomeSchema } from "../../../gen/modelgateway/v1/usage_pb.ts";
import { word } from "../../../gen/modelgateway/v1/wire_pb.ts";
import { formatDecimal } from "../../runtime/decimal.ts";
import type { Request } from "../../storage/calls/requests.ts";

const columns: Readonly<Record<string, (request: Request) => string | number>> = {
  id: ({ id }) => id,
  created_at: ({ created_at }) => new Date(created_at).toISOString(),
  key_id: ({ key_id }) => key_id,
  operation: ({ operation }) => operation,
  model: ({ model }) => model,
  upstream: ({ upstream }) => upstream,
  outcome: ({ outcome }) => outcomes.get(outcome) ?? "",
  input_tokens: ({ input }) => input,
  cache_read_tokens: ({ cache_read }) => cache_read,
  cache_write_tokens: ({ cache_write }) => cache_write,
  output_tokens: ({ output }) => output,
  reasoning_tokens: ({ reasoning }) => reasoning,
  characters: ({ characters }) => characters,
  estimated: ({ estimated }) => String(estimated === 1),
  cost: ({ cost }) => formatDecimal(cost),
  waived: ({ waived }) => formatDecimal(waived),
  duration_ms: ({ duration_ms }) => duration_ms,
  first_byte_ms: ({ first_byte_ms }) => first_byte_ms ?? "",
  cached: ({ cached }) => String(cached === 1),
};

const outcomes: ReadonlyMap<number, string> = new Map(
  OutcomeSchema.values.map((value) => [value.number, getOption(value, word)]),
);

export const csvHead = line(Object.keys(columns));

export function csvLines(requests: readonly Request[]): string {
  return requests.map((request) => line(Object.values(columns).map((cell) => cell(request)))).join("");
}

function line(cells: readonly (string | number)[]): string {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

function csvCell(cell: string | number): string {
  if (typeof cell === "number") return String(cell);
  const safe = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
