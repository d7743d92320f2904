/** The environment of this process: the only file that reads or changes it. */
import type { Environment } from "./document.ts";

export function processEnvironment(): Environment {
  return process.env;
}

/** listeningAddress returns HOST and PORT; undefined where they are unset or empty. */
export function listeningAddress(environment: Environment = process.env) {
  return { host: environment.HOST || undefined, port: environment.PORT || undefined };
}

/** useTemporaryFolder has SQLite write its temporary files into a folder: the system's may be small, or in memory. */
export function useTemporaryFolder(folder: string): void {
  process.env.SQLITE_TMPDIR = folder;
}
