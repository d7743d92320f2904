/** Reads the configuration for all workers of an owner, so that they serve by the same: the file, and what is stored. */
import type { Logger } from "pino";
import { type Config, configFile } from "../../config/config.ts";
import { withOperational } from "../../config/live/live-config.ts";
import type { Storage } from "../../storage/storage.ts";
import { openSource } from "../serving/configuration-source.ts";
import { type Following, followConfiguration } from "../serving/follow-configuration.ts";
import type { OwnerTask } from "./contract.ts";

export interface OwnerConfigurationOptions {
  readonly task: OwnerTask;
  /** given is the configuration of the task: that of the file, or what another owner served by before it died. */
  readonly given: Config;
  readonly storage: Storage;
  readonly log: Logger;
}

export interface OwnerConfiguration {
  /** current returns what the workers are to serve by. */
  current(): Config;
  /** fileText returns the text of the file that it goes by; undefined for none. */
  fileText(): string | undefined;
  /** follow has `onChange` called with each configuration that takes the place of another. */
  follow(onChange: (next: Config) => Promise<void>): Following;
}

/** openOwnerConfiguration reads it for the first time. Rejects with a ConfigError where it is wrong. */
export async function openOwnerConfiguration({
  task,
  given,
  storage,
  log,
}: OwnerConfigurationOptions): Promise<OwnerConfiguration> {
  const file = task.file ?? undefined;
  // The primary says how many workers there are: by the command line, perhaps.
  const adapt = (read: Config) => ({ ...read, workers: given.workers });
  const source = openSource({ config: given, storage, file, readBefore: () => task.fileText ?? undefined, log });
  let current = given;
  try {
    current = adapt(await source.load());
  } catch (error) {
    // The workers of an owner that has died are to serve again, by what they served.
    if (!task.isRestarted) throw error;
    log.error({ cause: (error as Error).message }, "the configuration cannot be read, and is as it was before");
  }
  return {
    current: () => current,
    fileText: source.takenText,
    follow(onChange) {
      const following = followConfiguration({
        ...{ config: current, source, adapt, file: configFile(file), log },
        async take(next) {
          current = withOperational(current, next);
          await onChange(current);
        },
      });
      return {
        reload: following.reload,
        close() {
          following.close();
          source.close();
        },
      };
    },
  };
}
