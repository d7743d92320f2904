/** Measures the cost of keys and money for a call, on a real database. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InferenceService } from "../../gen/modelgateway/v1/inference_pb.ts";
import { here } from "../../src/call/call.ts";
import type { Ledger } from "../../src/ledger/contract.ts";
import { createLeasedLedger } from "../../src/ledger/leases/leased-ledger.ts";
import { createAuthenticate } from "../../src/pipeline/admit/authenticate.ts";
import { createKnownKeys } from "../../src/pipeline/admit/known-keys.ts";
import { newId } from "../../src/runtime/ids.ts";
import { issueKey } from "../../src/services/keys/issue-key.ts";
import { openStorage, type Storage } from "../../src/storage/storage.ts";
import { measure } from "./measure.ts";

const keys = 1_000;
const atOnce = 32;
const credit = 1_000_000_000_000_000;
const onError = (error: unknown) => console.error(error);

export async function measureMoney(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "gateway-bench-"));
  const storage = await openStorage(join(folder, "gateway.db"));
  try {
    const now = Date.now();
    const accountId = newId("acc", now);
    await storage.accounts.insert({ id: accountId, name: "bench", created_at: now });
    await storage.entries.record({ id: newId("led", now), accountId, kind: 1, amount: credit, note: null, now });
    const init = { accountId, name: "bench", admin: false, now };
    const issued = await storage.transact(async (stores) => {
      const made: Awaited<ReturnType<typeof issueKey>>[] = [];
      for (let i = 0; i < keys; i++) made.push(await issueKey(stores.keys, init));
      return made;
    });
    const ledger = createLeasedLedger({ openBooks: storage.openBooks(true), clock: Date.now, onError });
    const secrets = issued.map(({ secret }) => secret);
    await authentication(storage, ledger, secrets);
    const call = paidCall(ledger, accountId, issued[0]?.key.id ?? "");
    await measure("hold and settle, one call at a time", call);
    const several = () => Promise.all(Array.from({ length: atOnce }, call));
    await measure(`hold and settle, ${atOnce} calls at once`, several, atOnce);
    await ledger.close();
  } finally {
    await storage.close();
    rmSync(folder, { recursive: true });
  }
}

async function authentication(storage: Storage, ledger: Ledger, secrets: readonly string[]): Promise<void> {
  const current = { tiers: [{ name: "Any", recharge: 0, requestsPerMinute: 1e8, tokensPerMinute: undefined }] };
  const settings = () => current;
  const { keys: all } = storage;
  const knownKeys = createKnownKeys({ keys: all, settings, ledger, changes: storage });
  const authenticate = createAuthenticate({
    ...{ keys: all, knownKeys, authenticateSession: () => undefined, settings, operatorKey: undefined },
    ...{ clock: Date.now, onUsed: () => {} },
  });
  const method = InferenceService.method.createChatCompletion;
  await measure(`authentication of one of ${keys.toLocaleString("en")} keys`, (i) => {
    const header = (name: string) => (name === "authorization" ? `Bearer ${secrets[i % keys]}` : undefined);
    return authenticate({ id: "req_bench", method, header, peer: here });
  });
}

/** paidCall returns a function that holds a call's cost and captures it. */
function paidCall(ledger: Ledger, accountId: string, keyId: string): () => Promise<void> {
  return async () => {
    const now = Date.now();
    const id = newId("req", now);
    const names = { accountId, keyId, isLimited: false, operation: "chat", model: "chat" };
    const held = await ledger.hold({ requestId: id, ...names, max: 2000, min: 2000, now });
    if (held.kind === "short") throw new Error("the account has run out of credit");
    const settlement = {
      ...{ id, account_id: accountId, key_id: keyId, operation: "chat", model: "chat", upstream: "whole", outcome: 1 },
      ...{ input: 210, cache_read: 0, cache_write: 0, output: 170, reasoning: 0, characters: 0, estimated: 0 },
      ...{ cost: 979, created_at: now, duration_ms: 5, first_byte_ms: 4, tried: null },
    };
    await ledger.capture(settlement, held);
  };
}
