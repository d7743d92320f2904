/** Says what a gateway works on, for the log of its start. */
import type { Config } from "../../config/config.ts";
import { version } from "../../package/version.ts";

/**
 * enginesOf returns members of a log line. `workers` is undefined for a gateway of one process. An address is not among them: it may have
 * a password.
 */
export function enginesOf({ database, redis }: Pick<Config, "database" | "redis">, workers?: number) {
  return {
    version: version(),
    database: database ? "postgres" : "sqlite",
    ...(database?.replica === undefined ? {} : { replica: true }),
    rates: redis ? "redis" : "memory",
    ...(workers === undefined ? {} : { workers }),
  };
}
