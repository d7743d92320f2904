/**
 * `npm run demo`: a gateway with an account to try things with.
 *
 * The first start creates the account with some credit, an ordinary key, an administrator key and an operator's
 * sign-in, and writes them to `demo.json` in the data folder, readable by its owner only. Later starts reuse them and
 * replace what is missing or no longer valid. The credit is granted once. With `--furnished` it has a month of calls
 * besides (`furnish.ts`).
 */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { EntryKind } from "../../../gen/modelgateway/v1/accounts_pb.ts";
import { OperatorService } from "../../../gen/modelgateway/v1/operator_pb.ts";
import { embeddedModels } from "../../composition/embedded-models.ts";
import type { Gateway } from "../../composition/gateway.ts";
import { type Config, loadConfig, type ModelConfig } from "../../config/config.ts";
import { processEnvironment } from "../../config/process-environment.ts";
import { hashKeySecret, hashPassword, newPassword, verifyPassword } from "../../runtime/secrets.ts";
import { issueKey } from "../../services/keys/issue-key.ts";
import { addUser } from "../../services/people/add-user.ts";
import type { Storage } from "../../storage/storage.ts";
import { SseReader } from "../../wire/sse.ts";
import { readOptions } from "../line/read-options.ts";
import { operatorClient } from "../operator.ts";
import { rootUrl } from "../serving/listening.ts";
import { runGateway } from "../serving/run-gateway.ts";
import { foundAccount, foundedAt, furnish } from "./furnish.ts";
import { vendorKeys } from "./plan.ts";

/** Demo is the content of `demo.json`. */
export interface Demo {
  readonly root_url: string;
  readonly base_url: string;
  readonly api_key: string;
  readonly admin_key: string;
  readonly account_id: string;
  readonly email: string;
  readonly password: string;
}

const { createAccount, recordEntry } = OperatorService.method;
const accountName = "demo";
const email = "demo@example.com";

export async function demo(args: readonly string[]): Promise<void> {
  const { values } = readOptions("demo", args);
  // The demo needs no upstream, whatever else the file configures.
  const { furnished = false } = values;
  const environment = furnished ? { ...vendorKeys, ...processEnvironment() } : processEnvironment();
  const adapt = (read: Config) => quiet(priced({ ...read, embeddedModels: true }));
  const config = adapt(loadConfig(values.config, environment));
  let made: Demo;
  await runGateway(config, {
    warmsModels: true,
    ...{ file: values.config, environment, adapt },
    async prepare(gateway, storage) {
      const now = Date.now();
      if (furnished) await foundAccount(storage, accountName, now);
      made = await prepareDemo(config, gateway, storage, furnished ? foundedAt(now) : now);
      if (furnished) await furnish({ config, storage, accountId: made.account_id, now });
    },
    async greet() {
      console.log(introduction(made, join(config.dataDir, "demo.json")));
      await showChat(made);
      console.log("\n\nServing until Ctrl-C.");
    },
  });
}

/**
 * prices are the demo's prices of the embedded models, so that charges are visible. Source: similar to vendors'
 * prices.
 */
const prices: Readonly<Record<ModelConfig["kind"], ModelConfig["price"]>> = {
  chat: { input: 500_000, output: 2_000_000 },
  embedding: { input: 100_000 },
  speech: { characters: 15_000_000 },
};

/** priced keeps the name and price of the file's own models. */
function priced(config: Config): Config {
  const models = embeddedModels.map((model) => ({ ...model, price: prices[model.kind] }));
  return { ...config, models: [...config.models, ...models] };
}

/** quiet keeps the log lines of calls out of the demo's output. */
function quiet(config: Config): Config {
  return config.logLevel === "info" ? { ...config, logLevel: "warn" } : config;
}

/** prepareDemo creates what the demo's account lacks and writes `demo.json`. A new user was there since `since`, in milliseconds since 1970. */
async function prepareDemo(config: Config, gateway: Gateway, storage: Storage, since: number): Promise<Demo> {
  const file = join(config.dataDir, "demo.json");
  const before = readDemo(file);
  const account_id = await accountId(config, storage);
  const root_url = rootUrl(gateway);
  const made: Demo = {
    root_url,
    base_url: `${root_url}/v1`,
    api_key: await workingKey(storage, account_id, before.api_key, false),
    admin_key: await workingKey(storage, account_id, before.admin_key, true),
    account_id,
    email,
    password: await workingPassword(storage, account_id, before.password, since),
  };
  writeDemo(file, made);
  return made;
}

/** readDemo returns the values in the file: none on the first start. A damaged file is replaced. */
function readDemo(file: string): Partial<Record<keyof Demo, string>> {
  try {
    const before = (JSON.parse(readFileSync(file, "utf8")) ?? {}) as Record<string, unknown>;
    return Object.fromEntries(Object.entries(before).filter(([, value]) => typeof value === "string"));
  } catch {
    return {};
  }
}

/** writeDemo replaces the file atomically: it is never half written, or readable by others. */
function writeDemo(file: string, made: Demo): void {
  const next = `${file}.${process.pid}`;
  writeFileSync(next, `${JSON.stringify(made, null, 2)}\n`, { mode: 0o600 });
  renameSync(next, file);
}

/** credit is the account's initial credit, in millionths of the unit. */
const credit = 10_000_000n;

async function accountId(config: Config, storage: Storage): Promise<string> {
  const ask = operatorClient(storage, config);
  const known = await storage.accounts.find(accountName);
  const id = known?.id ?? (await ask(createAccount, { name: accountName })).account?.id ?? "";
  const granted = (await storage.entries.page(id, { kinds: [EntryKind.GRANT], limit: 1 })).length > 0;
  if (!granted) await ask(recordEntry, { account: id, kind: EntryKind.GRANT, amount: credit, note: "demo" });
  return id;
}

async function workingKey({ keys }: Storage, accountId: string, secret: string | undefined, admin: boolean) {
  const known = secret ? await keys.findBySecretHash(hashKeySecret(secret), Date.now()) : undefined;
  const works = known?.revoked_at === null && known.is_admin === Number(admin) && known.account_id === accountId;
  if (secret && works) return secret;
  const name = admin ? "Demo administrator key" : "Demo key";
  return (await issueKey(keys, { accountId, name, admin, now: Date.now() })).secret;
}

/**
 * workingPassword makes the sign-in in the file work and its user an operator, so that the whole dashboard is visible.
 */
async function workingPassword(
  storage: Storage,
  accountId: string,
  before: string | undefined,
  since: number,
): Promise<string> {
  const { users } = storage;
  const user = await users.findByEmail(email);
  const works = user && before ? await verifyPassword(before, user.password_hash) : false;
  const password = before && works ? before : newPassword();
  if (!user) {
    const init = { email, passwordHash: await hashPassword(password), accountId, operator: true, now: since };
    await storage.transact((stores) => addUser(stores, init));
    return password;
  }
  await users.setOperator(user.id, true);
  if (!works) await users.setPassword(user.id, await hashPassword(password));
  return password;
}

function introduction({ root_url, base_url, api_key }: Demo, file: string): string {
  return `model-gateway serves at ${root_url}. Keys and sign-in are in ${file}.
The dashboard is at ${root_url}/dashboard.

Try it:

  curl ${base_url}/chat/completions \\
    -H "Authorization: Bearer ${api_key}" \\
    -H "Content-Type: application/json" \\
    -d '{"model": "embedded-chat", "messages": [{"role": "user", "content": "Hello!"}]}'

And with "stream": true, as it streams:
`;
}

/** showChat makes one streamed call, as any client would, and prints the answer as it arrives. */
async function showChat({ base_url, api_key }: Demo): Promise<void> {
  const question = "What can you do for somebody who develops a client?";
  const answer = await fetch(`${base_url}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${api_key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "embedded-chat", messages: [{ role: "user", content: question }], stream: true }),
  });
  if (!answer.ok || !answer.body) throw new Error(`the demo's call was refused: ${await answer.text()}`);
  const reader = new SseReader();
  process.stdout.write("  ");
  for await (const bytes of answer.body) {
    for (const { data } of reader.push(Buffer.from(bytes))) process.stdout.write(contentOf(data.toString("utf8")));
  }
}

/** contentOf returns what a frame of a chat adds to the answer. */
function contentOf(frame: string): string {
  if (frame === "[DONE]") return "";
  const { choices } = JSON.parse(frame) as { choices?: readonly { delta?: { content?: string } }[] };
  return choices?.[0]?.delta?.content ?? "";
}
