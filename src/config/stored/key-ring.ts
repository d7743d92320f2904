/**
 * The keys that secrets of the stored document are sealed by: those of the environment or of a file that is named; or, with SQLite, one
 * that is made beside the database when something is sealed for the first time.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { publish, unusedName } from "../../runtime/files/durable-files.ts";
import type { Config } from "../shape.ts";
import { newSealKey, readSealKeys, type SealKeys } from "./seal-keys.ts";

export interface KeyRing {
  /** open returns the keys that there are; none is no fault. Throws a KeyRingError where a file of keys cannot be read. */
  open(): SealKeys;
  /** seal returns the keys, the first of which seals. Makes one where that may be. Throws a KeyRingError. */
  seal(): SealKeys;
}

/** KeyRingError is thrown where there is no key. Its message says what to do, and holds nothing of a key. */
export class KeyRingError extends Error {
  override readonly name = "KeyRingError";
  readonly reason: KeyRingReason;
  readonly parameters: Readonly<Record<string, string>>;

  constructor(reason: KeyRingReason, message: string, parameters: Readonly<Record<string, string>> = {}) {
    super(message);
    this.reason = reason;
    this.parameters = parameters;
  }
}

/** KeyRingReason is the name of a ConflictReason of the contract. */
type KeyRingReason = `SEAL_KEY_${"MISSING" | "MALFORMED" | "UNREADABLE" | "UNWRITABLE"}`;

const keyFileName = "configuration.key";

/** createKeyRing returns the keys of a configuration. */
export function createKeyRing({
  sealing,
  dataDir,
  database,
}: Pick<Config, "sealing" | "dataDir" | "database">): KeyRing {
  const beside = database ? undefined : join(dataDir, keyFileName);
  const open = () => {
    if (sealing.key !== undefined) return keysIn(sealing.key, "GATEWAY_CONFIG_KEY");
    if (sealing.keyFile !== undefined) return keysIn(readKeyFile(sealing.keyFile), sealing.keyFile);
    const text = beside === undefined ? undefined : readIfThere(beside);
    return text === undefined ? [] : keysIn(text, beside as string);
  };
  return {
    open,
    seal() {
      const keys = open();
      if (keys.length > 0) return keys;
      if (beside === undefined) throw new KeyRingError("SEAL_KEY_MISSING", noKey);
      makeKeyFile(beside);
      return open();
    },
  };
}

const noKey =
  "there is no key to seal credentials by: set GATEWAY_CONFIG_KEY on every node to the same 32 bytes, in hex or base64 " +
  "(`openssl rand -hex 32` makes them), or GATEWAY_CONFIG_KEY_FILE to the path of a file with them, and start anew";

function keysIn(text: string, where: string): SealKeys {
  const keys = readSealKeys(text);
  if (!keys) {
    const message = `${where}: expected 32 bytes in hex or base64, or several such with commas between them`;
    throw new KeyRingError("SEAL_KEY_MALFORMED", message, { where });
  }
  return keys;
}

function readKeyFile(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw unreadable(`config_key_file: ${path}`, path, error);
  }
}

function unreadable(what: string, path: string, error: unknown): KeyRingError {
  const code = String((error as NodeJS.ErrnoException).code);
  return new KeyRingError("SEAL_KEY_UNREADABLE", `${what} cannot be read (${code})`, { path, code });
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    throw unreadable(path, path, error);
  }
}

/** makeKeyFile makes the file whole or not at all, for its owner alone; of two processes the first one's stays. */
function makeKeyFile(path: string): void {
  const own = unusedName(path);
  try {
    writeFileSync(own, `${newSealKey()}\n`, { flag: "wx", mode: 0o600 });
    publish(own, path, false);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return;
    throw new KeyRingError("SEAL_KEY_UNWRITABLE", `${path} cannot be written (${code})`, { path, code: String(code) });
  } finally {
    rmSync(own, { force: true });
  }
}
