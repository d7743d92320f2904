/**
 * The command line. Exit codes: 0 all went well, 2 the command, a path that it names or the configuration is wrong, 1 anything else.
 * `model-gateway help exit-codes` tells them apart.
 */
import { StartError, UsageError, wrongCommand } from "./commands/line/errors.ts";
import { ConfigError } from "./config/config-error.ts";
import { diskMessage, fileRemedy, NamedFileError, StorageError, troubleOf } from "./runtime/write-trouble.ts";

type Command = (args: readonly string[]) => Promise<void>;

/** Each is loaded when it is asked for: the gateway is large, and most commands need little of it. */
const commands: ReadonlyMap<string, () => Promise<Command>> = new Map(
  Object.entries({
    serve: async () => (await import("./commands/serve.ts")).serve,
    demo: async () => (await import("./commands/demo/demo.ts")).demo,
    accounts: async () => (await import("./commands/accounts.ts")).accounts,
    keys: async () => (await import("./commands/keys.ts")).keys,
    users: async () => (await import("./commands/users.ts")).users,
    recharge: async () => (await import("./commands/money.ts")).recharge,
    refund: async () => (await import("./commands/money.ts")).refund,
    grant: async () => (await import("./commands/money.ts")).grant,
    codes: async () => (await import("./commands/codes.ts")).codes,
    config: async () => (await import("./commands/config/config.ts")).config,
    models: async () => (await import("./commands/config/models.ts")).models,
    import: async () => (await import("./commands/import/import.ts")).importFrom,
    reconcile: async () => (await import("./commands/data/reconcile.ts")).reconcile,
    backup: async () => (await import("./commands/data/backup.ts")).backup,
    restore: async () => (await import("./commands/data/restore.ts")).restore,
    "migrate-to": async () => (await import("./commands/data/migrate-to.ts")).migrateTo,
    compact: async () => (await import("./commands/data/compact.ts")).compact,
    health: async () => (await import("./commands/health.ts")).health,
    completion: async () => (await import("./commands/line/completion/completion.ts")).completion,
    files: async () => (await import("./commands/files.ts")).files,
    help: async () => printHelp,
    version: async () => printVersion,
  }),
);

/** parts are what `serve` with workers starts, and nobody else. */
const parts: typeof commands = new Map([
  ["owner", async () => (await import("./commands/workers/owner.ts")).owner],
  ["worker", async () => (await import("./commands/workers/worker.ts")).worker],
]);

async function main(args: readonly string[]): Promise<void> {
  const [first = "serve"] = args;
  const asked = (...options: string[]) => args.some((arg) => options.includes(arg));
  if (asked("--help", "-h")) {
    const { help, helpAsked } = await import("./commands/line/help.ts");
    return console.log(help(helpAsked(args)));
  }
  if (asked("--version", "-v")) return printVersion();
  // Options without a command are those of `serve`.
  const [name, rest] = first.startsWith("-") ? ["serve", args] : [first, args.slice(1)];
  const load = commands.get(name) ?? parts.get(name);
  if (!load) throw wrongCommand(name);
  const command = await load();
  await command(rest);
}

async function printHelp(words: readonly string[]): Promise<void> {
  console.log((await import("./commands/line/help.ts")).help(words));
}

async function printVersion(): Promise<void> {
  console.log((await import("./package/version.ts")).version());
}

/** unprinted is the first error of standard output, as of a disk that is full. What the command has done by then is done. */
let unprinted: NodeJS.ErrnoException | undefined;

process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  // The reader of the output has ended, as `head` does when it has enough, or its terminal was closed.
  if (error.code === "EPIPE" || error.code === "EIO" || unprinted) return;
  unprinted = error;
  console.error(`model-gateway: standard output: ${fileRemedy(error)}. What could not be printed is lost`);
  process.exitCode = 1;
});

const awayMessage = "the database does not answer. Look at its server and the network, and try again";

/** Resolves when the command is over. Not awaited here: a module that awaits cannot be bundled into the executable. */
export const done: Promise<void> = main(process.argv.slice(2)).catch((error: unknown) => {
  if (unprinted && (error === unprinted || (error as Error | undefined)?.cause === unprinted)) return;
  const wrong = error instanceof UsageError || error instanceof ConfigError || error instanceof NamedFileError;
  const isPlain = wrong || error instanceof StartError || error instanceof StorageError;
  const isAway = troubleOf(error) === "away";
  const message = isPlain ? error.message : isAway ? awayMessage : diskMessage(error);
  console.error(message === undefined ? error : `model-gateway: ${message}`);
  process.exitCode = wrong ? 2 : 1;
});
