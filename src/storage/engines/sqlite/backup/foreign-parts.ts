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

/** made holds the parts that the gateway makes, by their names in lower case, once they were asked for: all migrations make them. */
let made: Promise<ReadonlyMap<string, Part>> | undefined;

function ownParts(): Promise<ReadonlyMap<string, Part>> {
  made ??= withNew((database) => new Map(partsOf(database).map((part) => [nameIn(part.name), part])));
  return made;
}

/** foreignTable returns in words what stands in the place of a table, and is none; undefined where nothing does. Reads no table. */
export async function foreignTable(database: RawConnection): Promise<string | undefined> {
  const own = await ownParts();
  const found = partsOf(database).find(({ type, name, sql }) => {
    const expected = own.get(nameIn(name))?.type;
    return type !== "trigger" && expected !== undefined && (expected !== type || isVirtual(sql));
  });
  return found && named(found);
}

/**
 * foreignTrigger returns a trigger of an up-to-date database in words that the gateway does not make; undefined where there is none. Those
 * of the gateway's own names become its own, whatever they do.
 */
export async function foreignTrigger(database: RawConnection): Promise<string | undefined> {
  const own = await ownParts();
  const triggers = partsOf(database).filter(({ type }) => type === "trigger");
  const found = triggers.find(({ name }) => own.get(nameIn(name))?.type !== "trigger");
  if (found) return named(found);
  for (const { name, sql } of triggers) {
    const expected = own.get(nameIn(name))?.sql;
    if (expected !== sql) database.exec(`DROP TRIGGER "${name}"; ${expected}`);
  }
  return undefined;
}

function named({ type, name }: Part): string {
  return `the ${type} ${legible(name)}`;
}

function isVirtual(sql: string): boolean {
  return /^create\s+virtual/i.test(sql);
}

function partsOf(database: RawConnection): Part[] {
  return database.prepare("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL").all() as Part[];
}

/** nameIn returns a name as SQLite compares it. */
function nameIn(name: string): string {
  return name.toLowerCase();
}
