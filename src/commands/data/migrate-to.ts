/**
 * `model-gateway migrate-to TARGET`: moves all data from SQLite to Postgres, or back, and shows what was moved. Messages go to standard
 * error, where a terminal shows how far it is; the table of what came goes to standard output.
 */
import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import { recover } from "../../composition/recover.ts";
import { type Config, loadDataConfig } from "../../config/config.ts";
import { formatDecimal } from "../../runtime/decimal.ts";
import { counted } from "../../runtime/words/counted.ts";
import { onDisk } from "../../runtime/write-trouble.ts";
import { type Moved, type MovedTable, move } from "../../storage/moving/move.ts";
import type { Place } from "../../storage/moving/places.ts";
import { undoMove } from "../../storage/moving/undo.ts";
import { databasePath, findDatabase, openConfigured, table } from "../command.ts";
import { helpHint, UsageError } from "../line/errors.ts";
import { readOptions } from "../line/read-options.ts";
import { interruptible } from "./interruptible.ts";
import { createProgress } from "./progress.ts";
import { printProof } from "./reconcile.ts";
import { report } from "./report.ts";

export async function migrateTo(args: readonly string[]): Promise<void> {
  const { values, positionals } = readOptions("migrate-to", args);
  const isForced = values.force ?? false;
  const config = loadDataConfig(values.config);
  const from = sourceOf(config);
  const named = positionals[0] === undefined ? undefined : await readTarget(positionals[0], from);
  if (values.undo) {
    const { from: name, place } = await onDisk(() => undoMove({ from, to: named, isForced }));
    console.error(`The data of ${name} can be used again; what is at ${place} cannot.`);
    return;
  }
  if (!named) throw new UsageError(`migrate-to needs TARGET. ${helpHint("migrate-to")}`);
  const progress = createProgress();
  const init = { to: named, makesRoom: isForced, acceptsFindings: values["accept-findings"] ?? false };
  const source = {
    place: from,
    dataDir: config.dataDir,
    open: () => openConfigured(config, report),
    recover: (storage: Parameters<typeof recover>[0], livedAt: number) =>
      recover(storage, { livedAt, onError: report }),
  };
  const stays = "the data stay shut where they are. The same command goes on, --undo opens them again";
  const moved = await onDisk(() =>
    interruptible((signal) => move({ ...init, from: source, onStep: progress.show, signal }), stays),
  ).finally(progress.clear);
  if (moved) print(moved, named);
  else console.error("The data were moved there before. Nothing was done.");
}

function sourceOf(config: Config): Place {
  if (config.database) return { engine: "postgres", url: config.database.url };
  const path = resolve(databasePath(config));
  findDatabase(path);
  return { engine: "sqlite", path };
}

/** readTarget reads the place that is named. A URL is never repeated: it has a password. Throws a UsageError. */
async function readTarget(word: string, from: Place): Promise<Place> {
  if (word === "-" && process.stdin.isTTY)
    throw new UsageError("migrate-to - reads the target from standard input: send it there");
  const named = word === "-" ? (await text(process.stdin)).trim() : word;
  const to: Place = /^postgres(?:ql)?:/i.test(named)
    ? { engine: "postgres", url: named }
    : { engine: "sqlite", path: resolve(named.replace(/^sqlite:(?:\/\/(?=\/))?/i, "")) };
  if (named === "") throw new UsageError("migrate-to: TARGET is empty");
  if (to.engine === "sqlite" && /^[a-z][a-z+]*:\/\//i.test(named))
    throw new UsageError("migrate-to: TARGET is neither postgres://… nor the path of a file");
  if (to.engine !== from.engine) return to;
  throw new UsageError(
    to.engine === "sqlite"
      ? "migrate-to: the data are in SQLite (DATA_DIR), and so is TARGET. `model-gateway backup` and `restore` copy them"
      : "migrate-to: the data are in Postgres (DATABASE_URL or database.url), and so is TARGET. pg_dump and pg_restore copy them. " +
          "To move those of DATA_DIR, leave DATABASE_URL unset",
  );
}

function print({ from, to, tables, proof, movedTo }: Moved, place: Place): void {
  if (movedTo !== undefined) console.error(`The file that was there is ${movedTo} now.`);
  const filled = tables.filter(({ rows }) => rows > 0);
  console.log(table(["TABLE", "ROWS", "SUM", "SECONDS"], filled.map(cells)));
  const empty = tables.length - filled.length;
  if (empty > 0) console.error(`${counted(empty, "more table has", "more tables have")} no rows.`);
  console.error(`Moved all data of ${from} to ${to}; what was left stays shut.`);
  console.error(
    place.engine === "postgres"
      ? "Start gateways with DATABASE_URL, or database.url, of that database."
      : "Start the gateway without DATABASE_URL, and with DATA_DIR of that file's folder, in which it is named gateway.db.",
  );
  if (tables.some(({ name, rows }) => name === "configurations" && rows > 0)) console.error(keyRemedy(place));
  if (proof.findings.length === 0) printProof(proof);
  else
    console.error(
      `The proof finds what it found before: ${proof.findings.length}. \`model-gateway reconcile\` shows it.`,
    );
}

/** keyRemedy says what opens the credentials of the stored configuration there. */
function keyRemedy({ engine }: Place): string {
  return engine === "postgres"
    ? "The stored configuration came along. Set GATEWAY_CONFIG_KEY to what opened its credentials: what is in configuration.key of DATA_DIR, unless another key was set."
    : "The stored configuration came along. Its credentials are opened by the GATEWAY_CONFIG_KEY that nodes had: set it here too, or write it into configuration.key beside the file.";
}

function cells({ name, rows, money, ms }: MovedTable): string[] {
  return [name, String(rows), money === undefined ? "-" : formatDecimal(money), (ms / 1000).toFixed(1)];
}
