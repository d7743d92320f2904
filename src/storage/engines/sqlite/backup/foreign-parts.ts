/**
 * Finds what a database has that the gateway does not make: a trigger changes sums behind its back, and a view in the place of a table says
 * whatever it was written to say, or never ends. Tables, indexes and views of other names are read by nobody, and may stay.
 */
import { legible } from "../../../../runtime/words/legible.ts";
import { type RawConnection, withNew } from "../database.ts";

interface Part {
  readonly type: string;
  readonly name: string;
  readonly sql: string;
}

/**
 * foreignPart returns such a part of an up-to-date database in words; undefined where there is none. Triggers of the gateway's own names
 * become its own, whatever they do.
 */
export function foreignPart(database: RawConnection): Promise<string | undefined> {
  return withNew((made) => {
    const own = new Map(partsOf(made).map((part) => [part.name, part]));
    const parts = partsOf(database);
    const found = parts.find(({ type, name, sql }) => {
      const expected = own.get(name)?.type;
      return type === "trigger" ? expected !== type : expected !== undefined && (expected !== type || isVirtual(sql));
    });
    if (found) return `the ${found.type} ${legible(found.name)}`;
    for (const { type, name, sql } of parts) {
      const expected = own.get(name)?.sql;
      if (type !== "trigger" || expected === undefined || expected === sql) continue;
      database.exec(`DROP TRIGGER "${name}"; ${expected}`);
    }
    return undefined;
  });
}

function isVirtual(sql: string): boolean {
  return /^create\s+virtual/i.test(sql);
}

function partsOf(database: RawConnection): Part[] {
  return database.prepare("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL").all() as Part[];
}
