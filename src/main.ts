/**
 * The command line. Exit codes: 0 all went well, 2 the command or the configuration is wrong, 1 anything else.
 */
import { helpHint, StartError, UsageError } from "./commands/command.ts";
import { usage } from "./commands/usage.ts";
import { ConfigError } from "./config/config.ts";
import { version } from "./package/version.ts";
import { StorageError } from "./runtime/write-trouble.ts";

type Command = (args: readonly string[]) => Promise<void>;

/** Each is loaded when it is asked for: the gateway is large, and most commands need little of it. */
const commands: ReadonlyMap<string, () => Promise<Command>> = new Map(
  Object.entries({
    serve: async () => (await import("./commands/serve.ts")).serve,
    demo: async () => (await import("./commands/demo.ts")).demo,
    accounts: async () => (await import("./commands/accounts.ts")).accounts,
    keys: async () => (await import("./commands/keys.ts")).keys,
    users: async () => (await import("./commands/users.ts")).users,
    recharge: async () => (await import("./commands/money.ts")).recharge,
    refund: async () => (await import("./commands/money.ts")).refund,
    grant: async () => (await import("./commands/money.ts")).grant,
    codes: async () => (await import("./commands/codes.ts")).codes,
    import: async () => (await import("./commands/import/import.ts")).importFrom,
    reconcile: async () => (await import("./commands/reconcile.ts")).reconcile,
  }),
);

async function main(args: readonly string[]): Promise<void> {
  const [first = "serve"] = args;
  const asked = (...words: string[]) =>
    words.includes(first) || args.some((arg) => words.includes(arg) && arg.startsWith("-"));
  if (asked("help", "--help", "-h")) return console.log(usage);
  if (asked("version", "--version", "-v")) return console.log(version());
  // Options without a command are those of `serve`.
  const [name, rest] = first.startsWith("-") ? ["serve", args] : [first, args.slice(1)];
  const load = commands.get(name);
  if (!load) throw new UsageError(`there is no command "${name}". ${helpHint}`);
  const command = await load();
  await command(rest);
}

process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  // Who reads no further, as `head`, has what it wanted; a terminal that was closed has nobody who reads.
  if (error.code !== "EPIPE" && error.code !== "EIO") throw error;
});

try {
  await main(process.argv.slice(2));
} catch (error) {
  const wrong = error instanceof UsageError || error instanceof ConfigError;
  const plain = wrong || error instanceof StartError || error instanceof StorageError;
  console.error(plain ? `model-gateway: ${error.message}` : error);
  process.exitCode = wrong ? 2 : 1;
}
