/**
 * Reads the configuration anew while the gateway serves: when its file has changed, on SIGHUP, and when somebody says that what is stored
 * has. What cannot be read, or is wrong, is refused whole: the log has each fault with its line, and what is served stays.
 *
 * The file is looked at twice a second and not watched by events: those do not come from every kind of volume, and a mounted ConfigMap
 * changes by a link in another folder.
 */
import { unwatchFile, watchFile } from "node:fs";
import type { Logger } from "pino";
import type { Config } from "../../config/config.ts";
import { ConfigError } from "../../config/config-error.ts";
import { changedOperationalKeys, changedProcessKeys } from "../../config/live/live-config.ts";

export interface FollowOptions {
  /** config is what is served. */
  readonly config: Config;
  /** load reads the configuration anew. Throws or rejects with a ConfigError. */
  readonly load: () => Config | Promise<Config>;
  /** file is the configuration file; undefined: there is none. */
  readonly file: string | undefined;
  readonly log: Pick<Logger, "info" | "warn" | "error">;
  /** take puts a configuration in force whose operational keys have changed. Throws where that cannot be. */
  readonly take: (next: Config) => void;
}

export interface Following {
  /** reload reads it anew, after what is being read already. `why` is for the log. */
  reload(why: string): void;
  close(): void;
}

const lookMs = 500;
/** settleMs is how long a file must have stayed as it is: whoever writes it may not be done. */
const settleMs = 250;

export function followConfiguration({ config, load, file, log, take }: FollowOptions): Following {
  let current = config;
  let isClosed = false;
  let waiting: string | undefined;
  let isReading = false;
  let settling: NodeJS.Timeout | undefined;

  async function read(why: string): Promise<void> {
    try {
      const next = await load();
      if (isClosed) return;
      const bound = changedProcessKeys(current, next);
      if (bound.length > 0) log.warn({ keys: bound }, atNextStart);
      const changed = changedOperationalKeys(current, next);
      if (changed.length > 0) take(next);
      current = next;
      log.info({ why, changed }, changed.length > 0 ? inForce : unchanged);
    } catch (error) {
      const faults = error instanceof ConfigError ? { faults: error.message.split("\n") } : { err: error };
      log.error({ why, ...faults }, refused);
    }
  }

  /** However often it is asked meanwhile, it is read once more. */
  async function readAll(): Promise<void> {
    isReading = true;
    for (let why = waiting; why !== undefined && !isClosed; why = waiting) {
      waiting = undefined;
      await read(why);
    }
    isReading = false;
  }

  const reload = (why: string) => {
    waiting = why;
    if (!isReading) void readAll();
  };
  const onLooked = () => {
    clearTimeout(settling);
    settling = setTimeout(reload, settleMs, "the file has changed").unref();
  };
  if (file !== undefined) watchFile(file, { interval: lookMs, persistent: false }, onLooked);
  return {
    reload,
    close() {
      isClosed = true;
      clearTimeout(settling);
      if (file !== undefined) unwatchFile(file, onLooked);
    },
  };
}

const inForce = "the configuration was read anew, and is in force";
const unchanged = "the configuration was read anew: nothing of it takes effect before the next start, or has changed";
const refused = "the new configuration is not taken, and the old one stays";
const atNextStart = "these keys are bound to the process: what they say now takes effect at the next start";
