/** The columns of a call's row are in the tables, in the proto and in the journal, as `columns.ts` says. */
import type { Kysely } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Outcome, RequestSchema, UsageSchema, UsageSumSchema } from "../../gen/modelgateway/v1/usage_pb.ts";
import * as outcomes from "../../src/storage/calls/outcomes.ts";
import { type CallColumn, callColumns, ownColumns, sharedColumns, summedColumns } from "../../src/storage/columns.ts";
import { addCallColumn } from "../../src/storage/engines/sqlite/add-call-column.ts";
import { openDatabase } from "../../src/storage/engines/sqlite/database.ts";
import { temporaryFolder } from "../support/command.ts";

interface ColumnInfo {
  readonly name: string;
  readonly type: string;
  readonly notnull: number;
  readonly dflt_value: string | null;
}

const columns: readonly CallColumn[] = callColumns;
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let database: Awaited<ReturnType<typeof openDatabase>>;

beforeAll(async () => {
  folder = await temporaryFolder();
  database = await openDatabase(`${folder.path}/gateway.db`);
});

afterAll(async () => {
  await database.db.destroy();
  await folder.remove();
});

function infoOf(table: string): ColumnInfo[] {
  return database.engine
    .prepare<[string], ColumnInfo>('SELECT name, type, "notnull", dflt_value FROM pragma_table_info(?)')
    .all(table);
}

describe("a migration has added each column", () => {
  test("to calls, with its type, and a default where a call may leave it out", () => {
    const info = infoOf("requests");
    expect(info.map(({ name }) => name).sort()).toEqual(columns.map(({ name }) => name).sort());
    for (const { name, type, isNullable = false, default: byDefault } of columns) {
      const found = info.find((one) => one.name === name);
      expect([name, found?.type.toLowerCase()]).toEqual([name, type]);
      // The primary key is not null without being declared so.
      if (name !== "id") expect([name, found?.notnull]).toEqual([name, isNullable ? 0 : 1]);
      if (byDefault !== undefined && byDefault !== null) {
        expect([name, found?.dflt_value]).toEqual([name, byDefault === "" ? "''" : String(byDefault)]);
      }
    }
  });

  test.each(["usage_hours", "due_sums", "due_now", "usage_hours_now"])("that is summed to %s", (table) => {
    expect(infoOf(table).map(({ name }) => name)).toEqual(expect.arrayContaining([...summedColumns]));
  });
});

test("each becomes a field of the proto, and each field of a call comes from one", () => {
  const fields = columns.map(({ field }) => field).sort();
  // What a call tells of its key is the key's as it is now.
  const apart = new Set(["usage", "key_tags", "key_owner"]);
  const ofRequest = RequestSchema.fields.map(({ name }) => name).filter((name) => !apart.has(name));
  const ofUsage = UsageSchema.fields.map(({ name }) => `usage.${name}`);
  expect(fields).toEqual([...ofRequest, ...ofUsage].sort());
  const ofSum = columns.filter(({ isSummed }) => isSummed).map(({ field }) => field.split(".")[0]);
  expect(UsageSumSchema.fields.map(({ name }) => name)).toEqual(expect.arrayContaining(ofSum));
});

test("places in the journal stay: lines that no process has posted yet have them", () => {
  expect(sharedColumns).toEqual([
    ...["account_id", "operation", "model", "upstream", "tried", "outcome", "estimated", "cached"],
  ]);
  expect(ownColumns.slice(0, 12)).toEqual([
    ...["id", "key_id", "input", "cache_read", "cache_write", "output", "reasoning", "characters", "cost"],
    ...["created_at", "duration_ms", "first_byte_ms"],
  ]);
});

test("one more is added to calls, sums and views by a line of a migration", async () => {
  const other = await openDatabase(`${folder.path}/other.db`);
  const db = other.db as Kysely<unknown>;
  await addCallColumn(db, { name: "one_more", type: "bigint", default: 0, summedAfter: summedColumns });
  await addCallColumn(db, { name: "another", type: "text", default: null });
  const sums = other.engine.prepare<[], unknown>("SELECT sum(one_more), sum(cost) FROM usage_hours_now");
  expect(sums.all()).toHaveLength(1);
  expect(other.engine.prepare<[], unknown>("SELECT another, one_more FROM requests").all()).toEqual([]);
  expect(other.engine.prepare<[], unknown>("SELECT spent, held FROM api_keys_now").all()).toEqual([]);
  await other.db.destroy();
});

test("outcomes have the numbers of the proto's Outcome", () => {
  const { ANSWERED: answered, FAILED: failed, BROKEN: broken, LOST: lost } = Outcome;
  expect({ ...outcomes }).toEqual({ answered, failed, broken, lost });
});
