/** Opens the source of the configuration over a storage: the file, and the versions that are stored. */
import type { Logger } from "pino";
import { logFailures } from "../../composition/trouble-log.ts";
import type { Config, Environment } from "../../config/config.ts";
import { createKeyRing } from "../../config/stored/key-ring.ts";
import { type ConfigurationSource, openConfigurationSource } from "../../config/stored/source.ts";
import { configurationChangedSince } from "../../storage/configuration/configurations.ts";
import type { Storage } from "../../storage/storage.ts";

export interface SourceOptions {
  readonly config: Pick<Config, "sealing" | "dataDir" | "database">;
  readonly storage: Storage;
  /** file is the configuration file that was named on the command line; undefined: GATEWAY_CONFIG, or none. */
  readonly file: string | undefined;
  readonly environment?: Environment | undefined;
  /** readBefore returns the text of the file that another process has read, where there is one (`ConfigurationSourceOptions`). */
  readonly readBefore?: (() => string | undefined) | undefined;
  /** log is told of looks for versions that fail, which nobody waits for. */
  readonly log: Pick<Logger, "error">;
}

export function openSource({
  config,
  storage,
  file,
  environment,
  readBefore,
  log,
}: SourceOptions): ConfigurationSource {
  return openConfigurationSource({
    rows: storage.configurations,
    changes: { version: storage.version, changedSince: (asOf) => configurationChangedSince(storage, asOf) },
    keys: createKeyRing(config),
    givenFile: file,
    environment,
    readBefore,
    onError: logFailures(log, "versions of the configuration could not be looked for"),
  });
}
