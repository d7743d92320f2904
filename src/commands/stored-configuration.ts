/** Reads the stored configuration for commands: the document itself, and the configuration that gateways serve by it. */
import { type Config, onlyForServing } from "../config/config.ts";
import { ConfigError } from "../config/config-error.ts";
import { createKeyRing, KeyRingError } from "../config/stored/key-ring.ts";
import { createStoredConfiguration, type StoredConfiguration } from "../config/stored/stored-configuration.ts";
import type { Storage } from "../storage/storage.ts";

/** storedConfiguration returns the stored configuration for a command, in whose terminal the file's secrets need not be set. */
export function storedConfiguration(
  { configurations: rows }: Pick<Storage, "configurations">,
  config: Config,
  givenFile: string | undefined,
): StoredConfiguration {
  return createStoredConfiguration({ rows, keys: createKeyRing(config), givenFile, excused: onlyForServing });
}

/**
 * configInForce returns what gateways serve: the file and the stored document together. `config` is the file's alone, which is returned,
 * with a line on standard error, where the document cannot be read: commands that mend it have to run.
 */
export async function configInForce(
  storage: Pick<Storage, "configurations">,
  config: Config,
  givenFile: string | undefined,
): Promise<Config> {
  try {
    return (await storedConfiguration(storage, config, givenFile).read()).config;
  } catch (error) {
    if (!(error instanceof ConfigError || error instanceof KeyRingError)) throw error;
    console.error(`This command goes by the file alone, for the stored configuration cannot be read. ${error.message}`);
    return config;
  }
}
