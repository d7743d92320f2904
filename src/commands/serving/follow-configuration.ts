/**
 * Reads the configuration anew while the gateway serves: when its file has changed, on SIGHUP, and when another version is stored. One
 * that cannot be read, or is wrong, is refused whole: the log has each fault with its line, and what is served stays. Where the database
 * is in trouble, it is read again until it answers.
 *
 * The file has changed where it holds another text than was loaded last, be that before this began. Where only another version is stored,
 * the file in force holds on; one that was refused may be right beside that version, and is read again.
 */
import type { Logger } from "pino";
import type { Config } from "../../config/config.ts";
import { ConfigError } from "../../config/config-error.ts";
import { changedOperationalKeys, changedProcessKeys } from "../../config/live/live-config.ts";
import type { ConfigurationSource } from "../../config/stored/source.ts";
import { followFile } from "../../runtime/files/follow-file.ts";
import { troubleOf } from "../../runtime/write-trouble.ts";

export interface FollowOptions {
  /** config is what is served. */
  readonly config: Config;
  /** source has read `config`. It reads the configuration anew, and tells when another version is stored. */
  readonly source: Pick<ConfigurationSource, "load" | "fileText" | "isFileRefused" | "onStoredChange">;
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

/** againMs is how long a database in trouble is left alone, in milliseconds. */
const againMs = 1000;

export function followConfiguration({ config, source, adapt, file, log, take }: FollowOptions): Following {
  let current = config;
  let isClosed = false;
  let reading = Promise.resolve();
  let waiting: Promise<void> | undefined;
  /** isFileAsked is whether what waits is to read the file as it is now. */
  let isFileAsked = false;
  const retries = createRetries((why) => reload(why));

  async function read(why: string): Promise<void> {
    const reads = isFileAsked ? "file" : "stored";
    isFileAsked = false;
    try {
      const next = adapt(await source.load(reads));
      if (isClosed) return;
      warnOfBound(next, current, config, log);
      const changed = changedOperationalKeys(current, next);
      // Another version is in force also where it says what was in force already.
      const isOther = changed.length > 0 || next.version !== current.version;
      if (isOther) await take(next);
      current = next;
      if (isOther) log.info({ why, version: next.version, changed }, inForce);
      else if (why !== storedAnew) log.info({ why }, unchanged);
      retries.end();
      if (reads === "stored" && source.isFileRefused()) void reload(refusedBefore);
    } catch (error) {
      if (isClosed) return;
      if (troubleOf(error) !== undefined) {
        if (reads === "file") isFileAsked = true;
        if (retries.failed(why)) log.error({ why, err: error }, inTrouble);
        return;
      }
      retries.end();
      log.error({ why, ...faultsOf(error) }, refused);
    }
  }

  /** However often it is asked while it is read, it is read once more. */
  const reload = (why: string) => {
    if (why !== storedAnew) isFileAsked = true;
    waiting ??= reading.then(() => {
      waiting = undefined;
      reading = isClosed ? Promise.resolve() : read(why);
      return reading;
    });
    return waiting;
  };
  const endStored = source.onStoredChange(() => reload(storedAnew));
  const isKnown = (text: string | undefined) => text === source.fileText();
  const endFile = file === undefined ? () => {} : followFile({ file, isKnown, onChange: () => reload(fileChanged) });
  return {
    reload,
    close() {
      isClosed = true;
      endStored();
      endFile();
      retries.end();
    },
  };
}

/** warnOfBound tells of keys bound to the process that have changed. One that was changed back is as it is in this process. */
function warnOfBound(next: Config, current: Config, started: Config, log: FollowOptions["log"]): void {
  const unlike = new Set(changedProcessKeys(started, next));
  const keys = changedProcessKeys(current, next).filter((key) => unlike.has(key));
  if (keys.length > 0) log.warn({ keys }, atNextStart);
}

function faultsOf(error: unknown): object {
  return error instanceof ConfigError ? { faults: error.message.split("\n") } : { err: error };
}

/** createRetries calls `act` a moment after each failure. */
function createRetries(act: (why: string) => Promise<void>) {
  let timer: NodeJS.Timeout | undefined;
  let count = 0;
  return {
    /** failed reports whether this is the first failure since the last end. */
    failed(why: string): boolean {
      clearTimeout(timer);
      timer = setTimeout(() => void act(why), againMs).unref();
      count++;
      return count === 1;
    },
    end(): void {
      clearTimeout(timer);
      count = 0;
    },
  };
}

const fileChanged = "the file has changed";
const storedAnew = "another version is stored";
const refusedBefore = "another version is stored, beside which the file may be right that was refused";
const inForce = "the configuration was read anew, and is in force";
const unchanged = "the configuration was read anew: nothing that may change while it is served has changed";
const refused = "the new configuration is not taken, and the old one stays";
const inTrouble = "the new configuration is read again until the database answers, and the old one stays meanwhile";
const atNextStart = "these keys are bound to the process: what they say now takes effect at the next start";
