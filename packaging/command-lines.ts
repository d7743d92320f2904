/** The commands of the line, each once a round, in an order in which all of them have something to do. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** Printed is what earlier commands of the round printed, by their names here. */
export type Printed = ReadonlyMap<string, string>;

export interface CommandLine {
  /** The command, as the table has it. */
  readonly name: string;
  /** Returns its arguments; `round` makes names that are new, `asked` is the address of a server for those that ask one. */
  readonly args: (round: number, printed: Printed, asked: string) => readonly string[];
  /** The code that it ends with; default 0. */
  readonly code?: number;
  /** The data folder, where it is not that of the others. */
  readonly dataFolder?: (round: number) => string;
}

/** writeInputs writes the files that commands read into their working folder; `asked` is the address of the server that some ask. */
export function writeInputs(folder: string, asked: string): void {
  const upstream = `{ name: asked, kind: openai, base_url: "${asked}/v1" }`;
  const prices = { "gpt-4o": { litellm_provider: "openai", mode: "chat", input_cost_per_token: 2.5e-6 } };
  writeFileSync(join(folder, "stored.yaml"), `embedded_models: true\nupstreams: [${upstream}]\n`);
  writeFileSync(join(folder, "prices.json"), JSON.stringify(prices));
  writeFileSync(join(folder, "litellm.yaml"), "model_list: []\n");
  writeFileSync(join(folder, "channels.json"), '{"data":[]}\n');
  writeFileSync(join(folder, "keys.json"), '{"keys":[]}\n');
}

const account = (round: number) => `account-${round}`;
const keyIn = (printed: Printed) => /key_\w+/.exec(printed.get("keys list") ?? "")?.[0] ?? "";
const batchIn = (printed: Printed) => /bat_\w+/.exec(printed.get("codes list") ?? "")?.[0] ?? "";

/** line makes a command whose arguments are always the same. */
function line(name: string, ...more: readonly string[]): CommandLine {
  return { name, args: () => [...name.split(" "), ...more] };
}

/** forAccount makes a command about the account of the round. */
function forAccount(name: string, ...more: readonly string[]): CommandLine {
  return { name, args: (round) => [...name.split(" "), "--account", account(round), ...more] };
}

/** forKey makes a command about a key of the round. */
function forKey(name: string, ...more: readonly string[]): CommandLine {
  return { name, args: (_, printed) => [...name.split(" "), keyIn(printed), ...more] };
}

/** forNobody makes a command about a user who is not there, as nobody registers here: it looks, and refuses. */
function forNobody(name: string): CommandLine {
  return { ...line(name, "nobody@example.com"), code: 2 };
}

/** commandLines has every command that ends by itself, but `migrate-to`, which takes as long as there is data. */
export const commandLines: readonly CommandLine[] = [
  line("version"),
  line("help"),
  line("help serve"),
  line("help configuration"),
  line("files"),
  line("completion", "bash"),
  { name: "health", args: (_round, _printed, asked) => ["health", "--url", asked] },
  { name: "accounts create", args: (round) => ["accounts", "create", "--name", account(round)] },
  line("accounts list"),
  { name: "accounts update", args: (round) => ["accounts", "update", account(round), "--time-zone", "Europe/Berlin"] },
  { name: "accounts suspend", args: (round) => ["accounts", "suspend", account(round)] },
  { name: "accounts reinstate", args: (round) => ["accounts", "reinstate", account(round)] },
  forAccount("recharge", "--amount", "5"),
  forAccount("grant", "--amount", "5"),
  forAccount("refund", "--amount", "1"),
  forAccount("keys create", "--name", "key"),
  forAccount("keys list"),
  forKey("keys update", "--max-concurrent", "5"),
  forKey("keys disable"),
  forKey("keys enable"),
  forKey("keys revoke"),
  line("users list"),
  line("users set-up"),
  forNobody("users reset-password"),
  forNobody("users no-second-factor"),
  forNobody("users operator"),
  forNobody("users no-operator"),
  { name: "users invite", args: (round) => ["users", "invite", "--email", `user-${round}@example.com`] },
  line("codes create", "--amount", "5"),
  line("codes list"),
  { name: "codes revoke", args: (_, printed) => ["codes", "revoke", batchIn(printed)] },
  line("config apply", "stored.yaml"),
  line("config test-upstream", "asked", "--model", "small"),
  line("config export"),
  line("config versions"),
  line("config compare", "1"),
  line("config rollback", "1", "--dry-run"),
  line("models sync", "prices.json"),
  line("import litellm", "litellm.yaml"),
  line("import new-api", "channels.json"),
  forAccount("import litellm-keys", "keys.json"),
  line("reconcile"),
  line("compact"),
  { name: "backup", args: (round) => ["backup", `backup-${round}`] },
  { name: "restore", args: (round) => ["restore", `backup-${round}`], dataFolder: (round) => `restored-${round}` },
];
