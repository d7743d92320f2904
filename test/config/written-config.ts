/** A configuration file of a test's own: what it makes of the configuration, and what is wrong with it. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { type Config, type Environment, loadConfig } from "../../src/config/config.ts";
import { ConfigError } from "../../src/config/config-error.ts";
import { temporaryFolder } from "../support/command.ts";

export interface WrittenConfig {
  /** The folder that the file is in. Known once the tests run. */
  readonly folder: string;
  readonly file: string;
  load(text: string, environment?: Environment): Promise<Config>;
  /** Returns what is wrong, one message a fault. */
  faultsOf(text: string, environment?: Environment): Promise<string[]>;
}

export function writtenConfig(): WrittenConfig {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  beforeAll(async () => {
    folder = await temporaryFolder();
  });
  afterAll(() => folder.remove());
  const written: WrittenConfig = {
    get folder() {
      return folder.path;
    },
    get file() {
      return join(folder.path, "gateway.yaml");
    },
    async load(text, environment = {}) {
      await writeFile(written.file, text);
      return loadConfig(written.file, environment);
    },
    async faultsOf(text, environment) {
      try {
        await written.load(text, environment);
        return [];
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error;
        return error.faults.map(({ message }) => message);
      }
    },
  };
  return written;
}
