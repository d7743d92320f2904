/**
 * The keys that secrets of the stored document are sealed by: those of the environment or of a file that is named; or, with SQLite, one
 * that is made beside the database when something is sealed for the first time.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ConflictWord, conflictMessage } from "../../call/conflicts.ts";
import { publish, unusedName } from "../../runtime/files/durable-files.ts";
import type { Config } from "../shape.ts";
import { newSealKey, readSealKeys, type SealKeys } from "./seal-keys.ts";

export interface KeyRing {
  /** open returns the keys that there are; none is no fault. Throws a KeyRingError where a file of keys cannot be read. */
  open(): SealKeys;
  /** seal returns the keys, the first of which seals. Makes one where that may be. Throws a KeyRingError. */
  seal(): SealKeys;
}

/** KeyRingError is thrown where there is no key. Its message is that of the conflict: what to do, and nothing of a key. */
export class KeyRingError extends Error {
  override readonly name = "KeyRingError";
  readonly reason: KeyRingReason;
  readonly parameters: Readonly<Record<string, string>>;

  constructor(reason: KeyRingReason, parameters: Readonly<Record<string, string>> = {}) {
    super(conflictMessage({ reason, parameters }));
    this.reason = reason;
    this.parameters = parameters;
  }
}

type KeyRingReason = Extract<ConflictWord, `SEAL_KEY_${string}`>;

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
      if (beside === undefined) throw new KeyRingError("SEAL_KEY_MISSING");
      makeKeyFile(beside);
      return open();
    },
  };
}

function keysIn(text: string, where: string): SealKeys {
  const keys = readSealKeys(text);
  if (!keys) throw new KeyRingError("SEAL_KEY_MALFORMED", { where });
  return keys;
}

function readKeyFile(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw unreadable(path, error);
  }
}

function unreadable(path: string, error: unknown): KeyRingError {
  const code = String((error as NodeJS.ErrnoException).code);
  return new KeyRingError("SEAL_KEY_UNREADABLE", { path, code });
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    throw unreadable(path, error);
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
    throw new KeyRingError("SEAL_KEY_UNWRITABLE", { path, code: String(code) });
  } finally {
    rmSync(own, { force: true });
  }
}
