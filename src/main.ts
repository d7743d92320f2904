/**
 * The command line. Exit codes: 0 all went well, 2 the command or the configuration is wrong, 1 anything else.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { accounts, accountsUsage } from "./commands/accounts.ts";
import { codes, codesUsage } from "./commands/codes.ts";
import { helpHint, StartError, UsageError } from "./commands/command.ts";
import { demo } from "./commands/demo.ts";
import { keys, keysUsage } from "./commands/keys.ts";
import { grant, moneyUsage, recharge, refund } from "./commands/money.ts";
import { reconcile, reconcileUsage } from "./commands/reconcile.ts";
import { serve } from "./commands/serve.ts";
import { ConfigError } from "./config/config.ts";
import { StorageError } from "./storage/database.ts";

type Command = (args: readonly string[]) => Promise<void>;

const money = { recharge, refund, grant, codes, reconcile };
const commands: ReadonlyMap<string, Command> = new Map(Object.entries({ serve, demo, accounts, keys, ...money }));

const usage = `usage: model-gateway [COMMAND] [--config FILE]

  serve                                        run the gateway until Ctrl-C; the default
  demo                                         the same, with an account, keys and a first call to play with
${accountsUsage}
${keysUsage}
${moneyUsage}
${codesUsage}
${reconcileUsage}
  help, version                                show this, or the version

The configuration is the file of --config or GATEWAY_CONFIG; gateway.example.yaml has every key. Without one the
embedded models are served, and those of the vendors whose keys are set, as OPENAI_API_KEY. HOST, PORT, DATA_DIR
and LOG_LEVEL win over the file. Accounts, keys and money are in the data folder: ./data, unless the
configuration has another. Amounts are decimals in units, as 12.50; times are as 2030-01-31T12:00:00Z.`;

async function main(args: readonly string[]): Promise<void> {
  const [first = "serve"] = args;
  const asked = (...words: string[]) =>
    words.includes(first) || args.some((arg) => words.includes(arg) && arg.startsWith("-"));
  if (asked("help", "--help", "-h")) return console.log(usage);
  if (asked("version", "--version", "-v")) return console.log(version());
  // Options without a command are those of `serve`.
  if (first.startsWith("-")) return serve(args);
  const command = commands.get(first);
  if (!command) throw new UsageError(`there is no command "${first}". ${helpHint}`);
  await command(args.slice(1));
}

function version(): string {
  const file = join(import.meta.dirname, "../package.json");
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  const wrong = error instanceof UsageError || error instanceof ConfigError;
  const plain = wrong || error instanceof StartError || error instanceof StorageError;
  console.error(plain ? `model-gateway: ${error.message}` : error);
  process.exitCode = wrong ? 2 : 1;
}
