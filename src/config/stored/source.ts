/**
 * The source of the configuration in force: the file and the highest version of what is stored. It reads both anew when it is asked to,
 * and tells when a version was added: at once where this process added it, and within moments where another did.
 *
 * The stored document is checked and joined with the text of the file that was taken last. The file itself may hold another text by then,
 * which somebody is still writing, or which was refused.
 */
import { readFileSync } from "node:fs";
import { type Config, configFile, type Environment } from "../config.ts";
import { ConfigError } from "../config-error.ts";
import { placed } from "../document.ts";
import { problem } from "../fault-texts.ts";
import type { KeyRing } from "./key-ring.ts";
import { type ConfigurationRows, createStoredConfiguration, type StoredConfiguration } from "./stored-configuration.ts";

/** StoredChanges tells of versions that may have been added, by whatever process. */
export interface StoredChanges {
  /** version is a number that grows with what was changed of the stored data. */
  version(): number;
  /** changedSince reports whether a version may have been added since that number. */
  changedSince(asOf: number): boolean;
}

export interface ConfigurationSourceOptions {
  readonly rows: ConfigurationRows & { highestVersion(): Promise<number> };
  readonly changes: StoredChanges;
  readonly keys: KeyRing;
  /** givenFile is the path of gateway.yaml; undefined: GATEWAY_CONFIG, or none. */
  readonly givenFile: string | undefined;
  readonly environment?: Environment | undefined;
  /**
   * readBefore returns the text of the file that another process has read: the one before this, or the one that reads for it. It is the
   * text in force until this process loads the file. Default: there is none.
   */
  readonly readBefore?: (() => string | undefined) | undefined;
  /** onError gets what is wrong with a look for versions, which is repeated. */
  readonly onError: (error: unknown) => void;
}

export interface ConfigurationSource {
  /**
   * load reads the highest version anew, and the file: as it is now, or for "stored" as it was taken last. Throws a ConfigError or a
   * KeyRingError: what was loaded before may be served on.
   */
  load(of?: "file" | "stored"): Promise<Config>;
  /** version returns the version that was loaded last; 0 where nothing was stored. */
  version(): number;
  /** fileText returns the text of the file that was loaded last, or refused; undefined where there was none, or it could not be read. */
  fileText(): string | undefined;
  /** takenText returns the text of the file in force; undefined where none was taken. */
  takenText(): string | undefined;
  /** isFileRefused reports whether the file holds another text than was taken, as far as it was read. */
  isFileRefused(): boolean;
  /**
   * onStoredChange has `listener` called when another version is there, and at once where one has come since the last load, before
   * anybody listened. A change by this process is answered once its listeners have ended. Returns a function that ends that.
   */
  onStoredChange(listener: () => void | Promise<void>): () => void;
  /** stored changes and compares what is stored. */
  readonly stored: StoredConfiguration;
  close(): void;
}

/** lookMs is how often versions by other processes are looked for, and againMs after a failure, in milliseconds. */
const [lookMs, againMs] = [100, 1000];

/** openConfigurationSource returns the source. It reads nothing until it is asked to. */
export function openConfigurationSource(options: ConfigurationSourceOptions): ConfigurationSource {
  const { rows, changes, keys, givenFile, environment, readBefore, onError } = options;
  const listeners = new Set<() => void | Promise<void>>();
  const file = configFile(givenFile, environment);
  let loaded = 0;
  let fileText: string | undefined;
  /** taken has the text of the file that was loaded last without a fault; undefined before the first. */
  let taken: { readonly text: string | undefined } | undefined;
  const takenText = () => (taken ? taken.text : readBefore?.());
  /** isMissed is true where a version was told of and nobody listened. */
  let isMissed = false;

  async function tell(): Promise<void> {
    isMissed = listeners.size === 0;
    const ended = await Promise.allSettled([...listeners].map(async (listener) => listener()));
    for (const one of ended) if (one.status === "rejected") onError(one.reason);
  }

  const watch = watchVersions({ rows, changes, tell, onError });
  const stored = createStoredConfiguration({
    ...{ rows, keys, givenFile, environment },
    fileText: takenText,
    onStored: watch.lookNow,
  });
  return {
    stored,
    version: () => loaded,
    fileText: () => fileText,
    takenText,
    isFileRefused: () => takenText() !== undefined && fileText !== takenText(),
    async load(of = "file") {
      const asOf = changes.version();
      isMissed = false;
      const before = takenText();
      const isKept = of === "stored" && before !== undefined;
      if (!isKept) fileText = file === undefined ? undefined : textOf(file);
      const text = isKept ? before : fileText;
      // A file that was blank from the first is meant to be.
      if (file !== undefined && isBlank(text) && before !== undefined && !isBlank(before)) throw blankError(file);
      const { config, version } = await stored.read(text);
      taken = { text };
      loaded = version;
      watch.know(version, asOf);
      return config;
    },
    onStoredChange(listener) {
      listeners.add(listener);
      if (isMissed) void tell();
      return () => void listeners.delete(listener);
    },
    close: watch.close,
  };
}

/** textOf returns what a file holds; undefined where it cannot be read, which whoever needs it reports. */
function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

const isBlank = (text: string | undefined) => text?.trim() === "";

/**
 * blankError returns the error for a file without a word in it: a write that was broken off, or found no room on the disk, leaves one, and
 * what it says would take every upstream away.
 */
function blankError(file: string): ConfigError {
  return new ConfigError([{ file, ...placed("", problem("FILE_EMPTY")) }]);
}

interface WatchOptions extends Pick<ConfigurationSourceOptions, "rows" | "changes" | "onError"> {
  /** tell is called when a version is there that was not known. */
  readonly tell: () => Promise<void>;
}

/** watchVersions looks for versions by whatever process. A look that fails is repeated, a second later. */
function watchVersions({ rows, changes, tell, onError }: WatchOptions) {
  /** known is the version that was told of last; asOf is how the stored data were before it was read. */
  let known = 0;
  let asOf = changes.version();
  let waitsUntil = 0;
  let looking: Promise<void> | undefined;

  async function look(): Promise<void> {
    const before = changes.version();
    const highest = await rows.highestVersion();
    asOf = before;
    if (highest === known) return;
    known = highest;
    await tell();
  }

  function lookOnce(): Promise<void> {
    looking ??= look()
      .catch((error: unknown) => {
        waitsUntil = performance.now() + againMs;
        onError(error);
      })
      .finally(() => {
        looking = undefined;
      });
    return looking;
  }

  const timer = setInterval(() => {
    if (performance.now() >= waitsUntil && changes.changedSince(asOf)) void lookOnce();
  }, lookMs).unref();
  return {
    async lookNow(): Promise<void> {
      // A look that has begun may have read before.
      await looking;
      await lookOnce();
    },
    /** know notes a version that was loaded, which need not be told; `before` is how the stored data were then. */
    know(version: number, before: number): void {
      if (version > known) [known, asOf] = [version, before];
    },
    close: () => clearInterval(timer),
  };
}
