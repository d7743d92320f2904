/** Functions that commands on the database share: they read values and the configuration, open the storage, and print tables. */
import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import { Refusal } from "../call/refusals.ts";
import { type Config, loadDataConfig } from "../config/config.ts";
import { version } from "../package/version.ts";
import { parseDecimal } from "../runtime/decimal.ts";
import { legible } from "../runtime/words/legible.ts";
import { openStorage, type Storage } from "../storage/storage.ts";
import { openStorageOnPostgres } from "../storage/storage-on-postgres.ts";
import { readTimestamp } from "../wire/timestamp.ts";
import { commandLineMessage } from "./command-line-message.ts";
import { helpHint, UsageError } from "./line/errors.ts";
import { configInForce } from "./stored-configuration.ts";

/** readName trims the text. Throws a UsageError if it is not a valid name. */
export function readName(option: string, text: string | undefined): string {
  const name = text?.trim() ?? "";
  if (name === "") throw new UsageError(`${option} is needed. ${helpHint()}`);
  if (name.length > 200 || /\p{Cc}/u.test(name)) {
    throw new UsageError(`${option}: expected at most 200 characters, and no line breaks or other control characters`);
  }
  return name;
}

/** maxUnits is the most that one entry can record, in units. */
const maxUnits = 1_000_000_000;

/** readAmount returns an amount, more than 0, in millionths of the unit. Throws a UsageError. */
export function readAmount(option: string, text: string | undefined): number {
  if (text === undefined) throw new UsageError(`${option} is needed. ${helpHint()}`);
  // Beyond the bound no other bound is named.
  const isBeyond = /^\d+(?:\.\d+)?$/.test(text) && Number(text) > maxUnits;
  const read = isBeyond ? { value: Number.POSITIVE_INFINITY } : parseDecimal(text);
  if ("fault" in read) throw new UsageError(`${option}: expected ${read.fault}`);
  if (read.value > 0 && read.value <= maxUnits * 1_000_000) return read.value;
  throw new UsageError(`${option}: expected more than 0, and at most ${maxUnits}`);
}

/** readExpiry returns the time of `--expires`. Throws a UsageError. */
export function readExpiry(text: string): Timestamp {
  const moment = readTimestamp(text);
  if (!moment) throw new UsageError("--expires: expected a time with its offset, as 2030-01-31T12:00:00Z");
  return moment;
}

/** checkExpiry throws a UsageError for a time that is not after `now`, which is the clock of the data (`clockOf`). */
export function checkExpiry(moment: Timestamp | undefined, now: number): void {
  if (moment && timestampMs(moment) <= now) throw new UsageError("--expires: expected a time in the future");
}

/** Needs is whether a command requires an existing database, or creates one if there is none. */
export type Needs = "database" | "nothing";

/** withStorage runs `work` on the configured storage, by the configuration that gateways serve from it, and closes it. */
export function withStorage(configFile: string | undefined, work: Work, needs?: Needs): Promise<void> {
  const byInForce: Work = async (storage, config) => work(storage, await configInForce(storage, config, configFile));
  return withFilesStorage(configFile, byInForce, needs);
}

type Work = (storage: Storage, config: Config) => Promise<void>;

/** withFilesStorage does the same by the configuration of the file alone. A Refusal becomes a UsageError. */
export async function withFilesStorage(
  configFile: string | undefined,
  work: Work,
  needs: Needs = "database",
): Promise<void> {
  const config = loadDataConfig(configFile);
  const path = databasePath(config);
  if (needs === "database" && !config.database) findDatabase(path);
  const isNew = !config.database && isMissing(path);
  const storage = await openConfigured(config, (error) => console.error(`The database: ${(error as Error).message}`));
  // A new database is announced: the operator may have meant the one of a gateway that serves.
  if (isNew) console.error(`There was no database yet: made ${resolve(path)}.`);
  try {
    await work(storage, config);
  } catch (error) {
    throw error instanceof Refusal && error.status < 500
      ? new UsageError(commandLineMessage(error), { cause: error })
      : error;
  } finally {
    await storage.close();
  }
}

/**
 * openConfigured opens the storage that is configured: a database of Postgres, or SQLite's file. `onError` gets what nobody waits for;
 * `inForce` returns the configuration that is in force by now, which other nodes are told the name of.
 */
export function openConfigured(
  config: Config,
  onError: (error: unknown) => void,
  inForce = () => config,
): Promise<Storage> {
  const { database, dataDir, durability } = config;
  if (!database) return openStorage(databasePath(config), durability);
  const of = { dataDir, version: version(), configuration: nameInForce(inForce) };
  return openStorageOnPostgres({ ...database, ...of, isSynced: durability === "power", onError });
}

/**
 * clockOf returns the clock that a command goes by, in milliseconds since 1970, as gateways on its data do: over Postgres the server's,
 * where this machine's differs by more than some seconds.
 */
export function clockOf({ database }: Pick<Storage, "database">): () => number {
  return database?.now ?? Date.now;
}

/** nameInForce returns a function that names the configuration in force, and makes a name of each once. */
function nameInForce(inForce: () => Config): () => string {
  let named: Config | undefined;
  let name = "";
  return () => {
    const config = inForce();
    if (config !== named) [named, name] = [config, configurationName(config)];
    return name;
  };
}

/**
 * configurationName names what all nodes of a database should have alike: the stored version, and behind a colon models, prices,
 * upstreams, tiers. Two configurations with other secrets, ports or folders have the same name: of headers and queries, which may have
 * secrets, only the names count.
 */
export function configurationName(config: Config): string {
  const { unit, unpriced, tiers, models, embeddedModels, defaultModels, disconnectDrainMs, retries, hedging } = config;
  const upstreams = config.upstreams.map(({ api_key: _, api_keys: __, headers = {}, query = {}, ...upstream }) => {
    return { ...upstream, headers: Object.keys(headers).sort(), query: Object.keys(query).sort() };
  });
  const alike = { unit, unpriced, tiers, models, embeddedModels, defaultModels, disconnectDrainMs, retries, hedging };
  const digest = createHash("sha256").update(JSON.stringify({ ...alike, upstreams }));
  return `${config.version}:${digest.digest("hex").slice(0, 16)}`;
}

/** refuseOnPostgres throws a UsageError for a command that works on SQLite's file, where the data are in Postgres. */
export function refuseOnPostgres({ database }: Config, instead: string): void {
  if (database) throw new UsageError(`the data are in Postgres (DATABASE_URL or database.url): ${instead}`);
}

/** findDatabase throws a UsageError if the database does not exist: an empty new one would report that all is well. */
export function findDatabase(path: string): void {
  if (!isMissing(path)) return;
  throw new UsageError(
    `there is no database ${resolve(path)}. Set DATA_DIR, or data_dir of the configuration file, to the gateway's data ` +
      "folder; `model-gateway serve` and `accounts create` make a new one",
  );
}

/** isMissing reports whether there is no such file. Opening the database reports any other error. */
function isMissing(path: string): boolean {
  try {
    statSync(path);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT";
  }
}

export function databasePath({ dataDir }: Config): string {
  return join(dataDir, "gateway.db");
}

/** table formats rows in aligned columns, whatever their cells hold. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows.map((row) => row.map(legible))];
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
