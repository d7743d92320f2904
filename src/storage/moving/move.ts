/**
 * Moves all data from one engine to another: accounts, keys by the hashes of their secrets, sessions, calls, money, answers.
 *
 * The end that they leave is shut first, recovered, and proved; then they are copied, counted and summed at both ends, and proved again
 * where they came to. Only then does one end open and the other stay shut. At every moment one end at most may be written by a gateway, and
 * what is ended amid it, by whatever, goes on when it is asked for again.
 */
import { newId } from "../../runtime/ids.ts";
import { StorageError } from "../../runtime/write-trouble.ts";
import type { MoveEnd } from "../engines/move-end.ts";
import { type MoveMark, moveOf, refusal } from "../engines/moves.ts";
import type { Finding } from "../proof/finding.ts";
import { prove, type Reconciliation, reconciled } from "../proof/proof.ts";
import { type Copied, copyTable, type Ends } from "./copy.ts";
import { makeRoom, openSource, openTarget, type Place, type Source } from "./places.ts";
import { movedTables } from "./tables.ts";
import { difference, moneyOf, totalsOf } from "./totals.ts";

export interface MoveInit {
  readonly from: Source;
  readonly to: Place;
  /** Makes room at the target: see `makeRoom`. */
  readonly makesRoom: boolean;
  /** Moves also where the proof of the source finds something, as long as the target has no other findings. */
  readonly acceptsFindings: boolean;
  readonly onStep: (step: MoveStep) => void;
  /** Ends it between two steps. Then its reason is thrown, and the source stays shut. */
  readonly signal?: AbortSignal;
}

/** MoveStep is what is done at this moment. */
export type MoveStep =
  | { readonly kind: "settling" | "proving" | "comparing"; readonly name: string }
  | { readonly kind: "copying"; readonly table: string; readonly rows: number; readonly of: number };

export interface MovedTable extends Copied {
  readonly name: string;
  /** money is in millionths of the unit; undefined where the table has no money. */
  readonly money: bigint | undefined;
}

export interface Moved {
  readonly from: string;
  readonly to: string;
  readonly tables: readonly MovedTable[];
  readonly proof: Reconciliation;
  /** The new path of the file that was at the target before; undefined where there was none. */
  readonly movedTo: string | undefined;
}

/** move throws a StorageError, in one line, where it cannot be done or something differs. Returns undefined where it was done before. */
export async function move(init: MoveInit): Promise<Moved | undefined> {
  const ends: OpenEnds = { to: await openTarget(init.to) };
  try {
    return await untilAsked(moveWith(ends, init), init.signal);
  } catch (error) {
    throw explained(error, ends);
  } finally {
    await ends.from?.close();
    await ends.to.close();
  }
}

/** OpenEnds are to be closed: the source once it is open. */
interface OpenEnds {
  from?: MoveEnd;
  to: MoveEnd;
}

async function moveWith(ends: OpenEnds, init: MoveInit): Promise<Moved | undefined> {
  const from = await openSource(init.from);
  ends.from = from;
  const stage = stageOf(await moveOf(from.db), await moveOf(ends.to.db), { from, to: ends.to });
  if (stage === "done") return undefined;
  let movedTo: string | undefined;
  if (stage === "begin") {
    const isTaken = await checkRoom(ends.to, init);
    await begin({ from, to: ends.to }, init, async () => {
      if (isTaken) ({ to: ends.to, movedTo } = await makeRoom(ends.to, init.to));
      return ends.to;
    });
  }
  return { ...(await goOn({ from, to: ends.to }, init)), movedTo };
}

/** graceMs is how long work that is asked to end may take to reach the end of a step, in milliseconds. */
const graceMs = 5000;

/** untilAsked ends with work, or some seconds after that was asked to end: a server that is silent lets no step come to its end. */
async function untilAsked<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  const asked = Promise.withResolvers<never>();
  let timeout: NodeJS.Timeout | undefined;
  const ask = () => {
    timeout = setTimeout(() => asked.reject(signal.reason), graceMs);
  };
  signal.addEventListener("abort", ask, { once: true });
  try {
    return await Promise.race([work, asked.promise]);
  } finally {
    clearTimeout(timeout);
    signal.removeEventListener("abort", ask);
  }
}

type Stage = "begin" | "copy" | "done";

/** stageOf returns where the move stands by what both ends know of it. */
function stageOf(left: MoveMark | undefined, came: MoveMark | undefined, { from, to }: Ends): Stage {
  const isSame = left?.id === came?.id;
  switch (left?.state) {
    case undefined:
    case "arrived":
      return "begin";
    case "arriving":
      throw new StorageError(refusal(left, from.name) as string);
    case "leaving":
      if (isSame) return "copy";
      if (left.place === to.name) return "begin";
      throw new StorageError(
        `the data of ${from.name} are being moved to ${left.place}, and not to ${to.name}. Name that, or use --undo first`,
      );
    case "left":
      if (!isSame) throw new StorageError(refusal(left, from.name) as string);
      return came?.state === "arrived" ? "done" : "copy";
  }
}

/** ofFirstStart is what a gateway leaves that was started and stopped: the link for its first user, and that it was made. */
const ofFirstStart: ReadonlySet<string> = new Set(["links", "acts"]);

/** checkRoom returns whether room has to be made at the target. Throws a StorageError where it has anything that is to stay. */
async function checkRoom(to: MoveEnd, { makesRoom }: MoveInit): Promise<boolean> {
  const found = await tablesWithRows(to);
  const isUnfinished = (await moveOf(to.db))?.state === "arriving";
  if (found.length === 0 && !isUnfinished) return false;
  const mayGo = isUnfinished || found.every((name) => ofFirstStart.has(name));
  const what = isUnfinished ? "a part of the data of a move that was not ended" : `data already (${found.join(", ")})`;
  const cannot = (remedy: string) => new StorageError(`${to.name} has ${what}. ${remedy}`);
  if (to.empty && !mayGo) throw cannot("Name an empty database");
  if (!makesRoom && to.empty) throw cannot("Name an empty database, or remove that by --force");
  if (!makesRoom) throw cannot("Name another file, or move that one aside by --force");
  return true;
}

async function tablesWithRows({ db }: MoveEnd): Promise<string[]> {
  const found: string[] = [];
  for (const { name } of movedTables) {
    const any = db.selectFrom(name as "accounts").select((all) => all.lit(1).as("one"));
    if (await any.limit(1).executeTakeFirst()) found.push(name);
  }
  return found;
}

/**
 * Shuts both ends. Where the source is not fit to be moved it is opened again, as it was, and the target is not touched: `prepare` makes
 * room there, and returns it.
 */
async function begin(
  { from, to }: Ends,
  { acceptsFindings, onStep }: MoveInit,
  prepare: () => Promise<MoveEnd>,
): Promise<void> {
  const before = await moveOf(from.db);
  const at = Date.now();
  const id = newId("mov", at);
  await from.shut({ id, state: "leaving", place: to.name, at });
  try {
    onStep({ kind: "settling", name: from.name });
    await from.recover();
    onStep({ kind: "proving", name: from.name });
    const { findings } = await proofOf(from);
    const [first] = findings;
    if (first && !acceptsFindings) {
      throw new StorageError(
        `the proof of ${from.name} finds ${findings.length === 1 ? "something" : `${findings.length} things`}: ${first.what}. Look at \`model-gateway reconcile --full\` first, ` +
          "or move the data with what it finds by --accept-findings",
      );
    }
    await (await prepare()).shut({ id, state: "arriving", place: from.name, at });
  } catch (error) {
    // Where that fails, too, it stays shut, and says so to whoever opens it.
    await from.open(before?.state === "leaving" ? undefined : before).catch(() => {});
    throw error;
  }
}

/** proofOf reads all that is kept, and writes nothing. */
async function proofOf(end: MoveEnd): Promise<Reconciliation> {
  const beside = await end.beside();
  const proof = await reconciled(prove(end.db, { isFull: true, isRemembered: false, now: Date.now() }));
  return { ...proof, findings: [...beside, ...proof.findings] };
}

/** goOn copies what is missing, compares all of it, and opens the target. */
async function goOn(ends: Ends, init: MoveInit): Promise<Omit<Moved, "movedTo">> {
  const { from, to } = ends;
  const copied = new Map<string, Copied>();
  for (const table of movedTables) copied.set(table.name, await copyWith(ends, table, init));
  await to.analyze();
  const tables: MovedTable[] = [];
  for (const table of movedTables) {
    init.signal?.throwIfAborted();
    init.onStep({ kind: "comparing", name: table.name });
    const here = await totalsOf(from, table);
    const differs = difference(table, here, await totalsOf(to, table));
    if (differs !== undefined) throw differing(differs, to);
    const { ms = 0 } = copied.get(table.name) ?? {};
    tables.push({ name: table.name, rows: here.rows, money: moneyOf(table, here), ms });
  }
  init.onStep({ kind: "proving", name: to.name });
  const proof = await proofOf(to);
  if (proof.findings.length > 0) refuseNew(proof.findings, (await proofOf(from)).findings, to);
  await finish(ends);
  return { from: from.name, to: to.name, tables, proof };
}

async function copyWith(ends: Ends, table: (typeof movedTables)[number], init: MoveInit): Promise<Copied> {
  const { db } = ends.from;
  const all = db.selectFrom(table.name as "accounts").select((rows) => rows.fn.countAll<number>().as("count"));
  const of = Number((await all.executeTakeFirstOrThrow()).count);
  const told = ({ rows }: Copied) => init.onStep({ kind: "copying", table: table.name, rows, of });
  return copyTable(ends, table, told, init.signal);
}

function refuseNew(found: readonly Finding[], before: readonly Finding[], to: MoveEnd): void {
  const known = new Set(before.map(({ what }) => what));
  const fresh = found.find(({ what }) => !known.has(what));
  if (fresh) throw differing(fresh.what, to);
}

/** Nothing of it may be used: the target stays as it is, and no gateway starts there. */
function differing(what: string, { name }: MoveEnd): StorageError {
  return new StorageError(
    `the data in ${name} are not those that left: ${what}. It stays shut; use --undo to go on with the data where they were`,
  );
}

/** First the one is left for good: never may both be written. */
async function finish({ from, to }: Ends): Promise<void> {
  const mark = await moveOf(from.db);
  if (!mark) throw new Error("the move is not known where it began");
  const at = Date.now();
  if (mark.state !== "left") await from.shut({ ...mark, state: "left", at });
  await to.open({ ...mark, state: "arrived", place: from.name, at });
}

function explained(error: unknown, { from, to }: { from?: MoveEnd; to: MoveEnd }): unknown {
  const told = [from, to].map((end) => end?.explain(error)).find((one) => one instanceof StorageError);
  return told ?? error;
}
