/**
 * CallField maps a column of a call's row to its proto field, by the field's name in `storage/columns.ts`. The gateway
 * does not start if a column names a field that the proto lacks.
 */
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { type CallColumn, type ColumnName, callColumns } from "../../storage/columns.ts";

export interface CallField {
  readonly column: ColumnName;
  /** field is the field, in the message itself or in its Usage. */
  readonly field: DescField;
  readonly isOfUsage: boolean;
  readonly isInCsv: boolean;
}

/** callFields returns the mapped fields of a message: of all columns, or of those that are summed. */
export function callFields(schema: DescMessage, { summedOnly = false } = {}): CallField[] {
  return callColumns
    .filter((column: CallColumn) => column.isSummed || !summedOnly)
    .map((column) => {
      const { name, field: path, isInCsv = true }: CallColumn & { readonly name: ColumnName } = column;
      return { column: name, field: fieldAt(schema, path), isOfUsage: path.startsWith("usage."), isInCsv };
    });
}

function fieldAt(schema: DescMessage, path: string): DescField {
  const [name, ...rest] = path.split(".");
  const field = schema.fields.find((one) => one.name === name);
  if (field && rest.length === 0) return field;
  if (!field?.message) throw new Error(`${schema.name} has no field ${path}, which a column of a call's row becomes`);
  return fieldAt(field.message, rest.join("."));
}
