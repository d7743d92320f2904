/**
 * A gateway with something to look at in its dashboard: accounts of every tier, keys of every state, calls, codes, and a
 * user who operates it.
 */

import { embeddedModels } from "../../../src/composition/embedded-models.ts";
import type { Config, ModelConfig } from "../../../src/config/config.ts";
import { newId } from "../../../src/runtime/ids.ts";
import { hashToken, newToken } from "../../../src/runtime/secrets.ts";
import { issueKey } from "../../../src/services/keys/issue-key.ts";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import { quickHash } from "./quick-hash.ts";

/** prices are what the embedded models cost, in millionths of the unit for a million. */
const prices: Readonly<Record<ModelConfig["kind"], ModelConfig["price"]>> = {
  chat: {
    ...{ input: 500_000, output: 2_000_000, regional: 1_100_000, web_search: 10_000 },
    long: [{ above: 100_000, input: 1_000_000, output: 3_000_000 }],
    priority: { input: 1_250_000, output: 5_000_000 },
  },
  embedding: { input: 100_000 },
  speech: { characters: 15_000_000 },
};

export const pricedModels: readonly ModelConfig[] = embeddedModels.map((model) => ({
  ...model,
  price: prices[model.kind],
}));

export interface Furnished extends TestGateway {
  /** token is what the browser's cookie `gateway_session` holds. */
  readonly token: string;
  readonly email: string;
  readonly password: string;
  /** The account that the operator's own is not. */
  readonly otherAccountId: string;
}

/** Starts it. Its clock is the machine's in the end, as the browser's is; before that it is set back, for there to be a past. */
export async function startFurnished(overrides: Partial<Config> = {}): Promise<Furnished> {
  let behindMs = 0;
  const gateway = await startTestGateway(
    { models: [...pricedModels], publicUrls: regions, ...overrides },
    { postpaid: false, recharge: 25_000_000, grant: 5_000_000, clock: () => Date.now() - behindMs },
  );
  const { storage, accountId, apiKey } = gateway;
  const now = Date.now();
  await storage.accounts.update(accountId, { name: "Acme" });
  const issue = (name: string, more: object = {}) =>
    issueKey(storage.keys, { accountId, name, now: now - 8 * day, admin: false, ...more });
  const production = issue("Production", { creditLimit: 2_000_000, limits: productionLimits });
  await issue("CI <b>bold</b>", { admin: true, models: '["family:embedded"]' });
  const old = issue("Old laptop", { creditLimit: 1_000_000 });
  await storage.keys.update(accountId, (await old).key.id, { disabled: 1 });
  const otherAccountId = await otherAccount(gateway, "Globex", 320_000_000, now);
  await otherAccount(gateway, "Initech", 0, now);
  for (let daysAgo = 6; daysAgo >= 0; daysAgo--) {
    behindMs = daysAgo * day;
    await someCalls(gateway, (await production).secret, 3 + ((daysAgo * 5) % 7));
    await someCalls(gateway, apiKey, 1 + (daysAgo % 3));
  }
  const signedIn = await operator(gateway, now);
  return { ...gateway, ...signedIn, otherAccountId };
}

const day = 86_400_000;

const productionLimits = {
  ...{ requests_per_minute: 600, tokens_per_minute: 1_000_000, max_concurrent: 20, owner: "Ada Lovelace" },
  tags: JSON.stringify(["production", "team-search"]),
  model_rates: JSON.stringify([{ model: "family:embedded", requests: 300, tokens: 500_000 }]),
  allowed_ips: JSON.stringify(["127.0.0.0/8", "::1"]),
};

/** The addresses by region; the gateway's own is the one that it is reached at. */
export const regions = {
  direct: "https://us.gateway.example",
  cdn: "https://cdn.gateway.example",
  cn: "https://cn.gateway.example",
} as const;

async function otherAccount({ storage }: TestGateway, name: string, amount: number, now: number): Promise<string> {
  const id = newId("acc");
  await storage.accounts.insert({ id, name, created_at: now, postpaid: 0 });
  if (amount > 0) {
    await storage.entries.record({ id: newId("led"), accountId: id, kind: 1, amount, note: "invoice 17", now });
  }
  return id;
}

async function operator({ storage, accountId }: TestGateway, now: number) {
  const email = "ada@example.com";
  const password = "correct horse battery";
  const id = newId("usr");
  const password_hash = quickHash(password);
  await storage.users.insert({ id, account_id: accountId, email, password_hash, created_at: now, is_operator: 1 });
  const token = newToken();
  await storage.sessions.insert({
    ...{ id: newId("ses"), user_id: id, token_hash: hashToken(token), address: "127.0.0.1" },
    user_agent: "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36",
    ...{ created_at: now, last_seen_at: now, expires_at: now + 86_400_000 },
  });
  return { token, email, password };
}

/** Enough of them that every list has something in it. */
async function someCalls({ baseUrl }: TestGateway, secret: string, count: number): Promise<void> {
  const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" };
  const call = async (path: string, body: object) => {
    const answer = await fetch(`${baseUrl}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    await answer.arrayBuffer();
  };
  for (let i = 1; i <= count; i++) {
    const content = "Tell me what a gateway is for. ".repeat(i);
    await call("/chat/completions", { model: "embedded-chat", max_tokens: 200, messages: [{ role: "user", content }] });
  }
  await call("/embeddings", { model: "embedded-embedding", input: "Tell me what a gateway is for. ".repeat(50) });
}
