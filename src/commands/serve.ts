/**
 * `model-gateway serve`: runs the gateway until SIGTERM or SIGINT; in one process, or as workers behind a primary, which SIGHUP replaces
 * one by one.
 *
 * While nobody operates the gateway it prints the link for its first user, to standard output only, never to the log.
 */
import { type Config, loadConfig } from "../config/config.ts";
import { readWorkers } from "../config/values.ts";
import { helpHint, UsageError } from "./line/errors.ts";
import { readOptions } from "./line/read-options.ts";

/** serve runs the command. Only what the process needs is loaded: a primary serves nothing itself. */
export async function serve(args: readonly string[]): Promise<void> {
  const { values } = readOptions("serve", args);
  const asked = workersAsked(values.workers);
  const load = (): Config => {
    const config = loadConfig(values.config);
    return asked === undefined ? config : { ...config, workers: asked };
  };
  const config = load();
  if (config.workers !== undefined) {
    const { runPrimary } = await import("./workers/primary/primary.ts");
    return runPrimary(config, { load, file: values.config });
  }
  const [{ runGateway }, { greeter }] = await Promise.all([
    import("./serving/run-gateway.ts"),
    import("./serving/greet.ts"),
  ]);
  await runGateway(config, { file: values.config, greet: greeter(config, values.config) });
  // `main.ts` sets 1 where its greeting could not be printed. It has served all the same.
  process.exitCode = 0;
}

function workersAsked(text: string | undefined): Config["workers"] {
  if (text === undefined) return undefined;
  const workers = readWorkers(text);
  if (workers === undefined)
    throw new UsageError(`--workers: expected auto, or a number from 1 to 256. ${helpHint("serve")}`);
  return workers;
}
