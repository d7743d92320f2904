/**
 * Reads the configuration anew while the gateway serves: when its file has changed, on SIGHUP, and when another version is stored. One
 * that cannot be read, or is wrong, is refused whole: the log has each fault with its line, and what is served stays.
 *
 * The file is looked at twice a second and not watched by events: those do not come from every kind of volume, and a mounted ConfigMap
 * changes by a link in another folder.
 */
import { unwatchFile, watchFile } from "node:fs";
import { readFile } from "node:fs/promises";
import type { Logger } from "pino";
import type { Config } from "../../config/config.ts";
import { ConfigError } from "../../config/config-error.ts";
import { placed } from "../../config/document.ts";
import { problem } from "../../config/fault-texts.ts";
import { changedOperationalKeys, changedProcessKeys } from "../../config/live/live-config.ts";
import type { ConfigurationSource } from "../../config/stored/source.ts";

export interface FollowOptions {
  /** config is what is served. */
  readonly config: Config;
  /** source reads the configuration anew, and tells when another version is stored. */
  readonly source: Pick<ConfigurationSource, "load" | "onStoredChange">;
  /** adapt changes what was read, each time. */
  readonly adapt: (config: Config) => Config;
  /** file is the configuration file; undefined: there is none. */
  readonly file: string | undefined;
  readonly log: Pick<Logger, "info" | "warn" | "error">;
  /** take puts a configuration in force whose version or operational keys have changed. Throws or rejects where that cannot be. */
  readonly take: (next: Config) => void | Promise<void>;
}

export interface Following {
  /** reload reads it anew, after what is being read already, and resolves when that is in force, or refused. `why` is for the log. */
  reload(why: string): Promise<void>;
  close(): void;
}

const lookMs = 500;
/** debounceMs is how long a file must have stayed as it is: whoever writes it may not be done. */
const debounceMs = 250;

export function followConfiguration({ config, source, adapt, file, log, take }: FollowOptions): Following {
  let current = config;
  let isClosed = false;
  let reading = Promise.resolve();
  let waiting: Promise<void> | undefined;
  let debouncing: NodeJS.Timeout | undefined;

  async function read(why: string): Promise<void> {
    try {
      if (file !== undefined) await refuseBlank(file);
      const next = adapt(await source.load());
      if (isClosed) return;
      // A key that was changed back is as it is in this process.
      const unlike = new Set(changedProcessKeys(config, next));
      const bound = changedProcessKeys(current, next).filter((key) => unlike.has(key));
      if (bound.length > 0) log.warn({ keys: bound }, atNextStart);
      const changed = changedOperationalKeys(current, next);
      const { version } = next;
      // Another version is in force also where it says what was in force already.
      const isOther = changed.length > 0 || version !== current.version;
      if (isOther) await take(next);
      current = next;
      if (isOther) log.info({ why, version, changed }, inForce);
      else if (why !== storedAnew) log.info({ why }, unchanged);
    } catch (error) {
      const faults = error instanceof ConfigError ? { faults: error.message.split("\n") } : { err: error };
      log.error({ why, ...faults }, refused);
    }
  }

  /** However often it is asked while it is read, it is read once more. */
  const reload = (why: string) => {
    waiting ??= reading.then(() => {
      waiting = undefined;
      reading = isClosed ? Promise.resolve() : read(why);
      return reading;
    });
    return waiting;
  };
  const onLooked = () => {
    clearTimeout(debouncing);
    debouncing = setTimeout(() => void reload("the file has changed"), debounceMs).unref();
  };
  const endStored = source.onStoredChange(() => reload(storedAnew));
  if (file !== undefined) watchFile(file, { interval: lookMs, persistent: false }, onLooked);
  return {
    reload,
    close() {
      isClosed = true;
      endStored();
      clearTimeout(debouncing);
      if (file !== undefined) unwatchFile(file, onLooked);
    },
  };
}

/**
 * Throws a ConfigError for a file without a word in it: a write that was broken off, or found no room on the disk, leaves one, and what it
 * says would take every upstream away.
 */
async function refuseBlank(file: string): Promise<void> {
  // The reading that follows reports a file that cannot be read.
  const text = await readFile(file, "utf8").catch(() => undefined);
  if (text?.trim() === "") throw new ConfigError([{ file, ...placed("", problem("FILE_EMPTY")) }]);
}

const storedAnew = "another version is stored";
const inForce = "the configuration was read anew, and is in force";
const unchanged = "the configuration was read anew: nothing that may change while it is served has changed";
const refused = "the new configuration is not taken, and the old one stays";
const atNextStart = "these keys are bound to the process: what they say now takes effect at the next start";
