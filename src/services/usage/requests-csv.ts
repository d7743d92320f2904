/**
 * Writes calls as comma-separated values: RFC 4180 with a header line, money as decimals in units.
 *
 * Spreadsheets evaluate cells that look like formulas, and names come from callers: such a cell is prefixed with an
 * apostrophe, and so is what would be a cell of its own to a spreadsheet that parts them by semicolons or tabs.
 */
import { type DescField, getOption, ScalarType } from "@bufbuild/protobuf";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";
import { RequestSchema } from "../../../gen/modelgateway/v1/usage_pb.ts";
import { wire } from "../../../gen/modelgateway/v1/wire_pb.ts";
import { formatDecimal } from "../../runtime/decimal.ts";
import type { CallRow } from "../../storage/columns.ts";
import { enumWords } from "../../wire/plan.ts";
import { callFields } from "./call-fields.ts";
import type { LabelsOf } from "./key-labels.ts";

/**
 * signs are those with which formulas begin, in all forms that are the same by compatibility: Numbers reads these as the plain ones.
 * Source: UAX #15.
 */
const signs = "=+\\-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b\u207c\u207a\u207b\u208c\u208a\u208b";
/**
 * formulas are the places before what looks like one, behind what spreadsheets pass over at the beginning of a cell. What is passed over
 * ends with its line, where the next begins: thus each character is read once.
 */
const formulas = new RegExp(`(^|[;\\t\\r\\n])([[\\p{White_Space}\\p{Cc}\\p{Cf}"]--\\n]*?)(?=[${signs}\\t\\r])`, "gv");

type Cell = (value: string | number) => string | number;

const columns = callFields(RequestSchema)
  .filter(({ isInCsv }) => isInCsv)
  .map(({ column, field }) => ({ column, name: field.name, cell: cellOf(field) }));

export const csvHead = line([...columns.map(({ name }) => name), "key_tags", "key_owner"]);

/** csvLines writes each call, and after its own cells the tags of its key, parted by `; `, and the key's owner. */
export function csvLines(requests: readonly CallRow[], labelsOf: LabelsOf): string {
  return requests.map((row) => csvLine(row, labelsOf(row.key_id))).join("");
}

function csvLine(row: CallRow, labels: ReturnType<LabelsOf>): string {
  const cells = columns.map(({ column, cell }) => cellIn(row[column], cell));
  return line([...cells, labels?.tags.join("; ") ?? "", labels?.owner ?? ""]);
}

function cellIn(value: string | number | null, cell: Cell): string | number {
  return value === null ? "" : cell(value);
}

/** cellOf returns a function that formats a field's values: as in the public JSON, times as ISO 8601. */
function cellOf(field: DescField): Cell {
  if (field.message?.typeName === TimestampSchema.typeName) return (ms) => new Date(Number(ms)).toISOString();
  if (field.enum) {
    const { words } = enumWords(field.enum);
    return (number) => words.get(Number(number)) ?? "";
  }
  if (field.scalar === ScalarType.BOOL) return (value) => String(value === 1);
  return getOption(field, wire).decimals > 0 ? (amount) => formatDecimal(Number(amount)) : (value) => value;
}

function line(cells: readonly (string | number)[]): string {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

function csvCell(cell: string | number): string {
  if (typeof cell === "number") return String(cell);
  const safe = cell.replace(formulas, "$1$2'");
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
