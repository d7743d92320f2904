/** Does everything once that stores can do, and tells what each answered: on whatever engine, the same. */
import type { Stores, Transact } from "../../../src/storage/storage.ts";

const t0 = Date.UTC(2026, 0, 2, 3, 4, 5);
const day = 86_400_000;

export interface StoresUnderTest extends Stores {
  readonly transact: Transact;
}

type Answers = [what: string, answer: unknown][];

export async function runStores(stores: StoresUnderTest, addCalls: () => Promise<void>): Promise<Answers> {
  const answers: Answers = [];
  const ask = async (what: string, answer: Promise<unknown>) => void answers.push([what, await answer.catch(String)]);
  for (const part of [accounts, people, keys, money, answersKept, transactions]) await part(stores, ask);
  await addCalls();
  await calls(stores, ask);
  return answers;
}

type Ask = (what: string, answer: Promise<unknown>) => Promise<void>;

async function accounts({ accounts: store }: Stores, ask: Ask): Promise<void> {
  const account = (id: string, name: string) => ({ id, name, created_at: t0, suspended_at: null });
  for (const [id, name] of [
    ["acc_b", "Ölmühle"],
    ["acc_a", "alpha"],
    ["acc_C", "Zulu"],
    ["acc_d", "50%_off\\"],
  ] as const)
    await ask(`insert ${name}`, store.insert(account(id, name)));
  await ask("a name twice", store.insert(account("acc_e", "alpha")));
  await ask("find by id", store.find("acc_a"));
  await ask("find by name", store.find("Zulu"));
  await ask("find none", store.find("acc_none"));
  await ask("first", store.first());
  await ask("list", store.list());
  for (const search of ["LPHA", "acc_b", "%", "_", "\\", "ö", "Ö", "x"])
    await ask(`search ${search}`, store.page({ search, limit: 10 }));
  await ask("page", store.page({ after: { id: "acc_C" }, limit: 2 }));
  for (const descending of [false, true]) {
    const all = { descending, limit: 10 };
    for (const orderBy of ["id", "name", "balance", "recharged"] as const)
      await ask(`in the order of ${orderBy}`, store.page({ ...all, orderBy }));
    await ask("behind a name", store.page({ ...all, orderBy: "name", after: { id: "acc_b", value: "Ölmühle" } }));
    await ask("behind an amount", store.page({ ...all, orderBy: "balance", after: { id: "acc_b", value: 0 } }));
  }
  const filters = { recharged: { from: 0, below: 5 }, balanceBelow: 1, suspended: false };
  await ask("filtered", store.page({ ...filters, limit: 10 }));
  await ask("filtered away", store.page({ ...filters, recharged: { from: 5, below: undefined }, limit: 10 }));
  await ask("rename", store.update("acc_a", { name: "beta" }));
  await ask("rename to a name that is taken", store.update("acc_a", { name: "Zulu" }));
  await ask("change nothing", store.update("acc_a", {}));
  await ask("suspend", store.update("acc_C", { suspended_at: t0, postpaid: 1 }));
  await ask("change none", store.update("acc_none", { name: "n" }));
}

async function people({ users, sessions, links, auditEvents }: Stores, ask: Ask): Promise<void> {
  const user = (id: string, email: string, account_id: string) => ({
    id,
    account_id,
    email,
    password_hash: "x",
    created_at: t0,
  });
  await ask("insert a user", users.insert({ ...user("usr_1", "ann@example.com", "acc_a"), is_operator: 1 }));
  await ask("insert another", users.insert(user("usr_2", "bob@example.com", "acc_b")));
  await ask("an address twice", users.insert(user("usr_3", "bob@example.com", "acc_b")));
  await ask("find a user", users.find("usr_1"));
  await ask("find by address", users.findByEmail("bob@example.com"));
  for (const search of ["BOB", "acc_a", "usr_2", "%"])
    await ask(`search users ${search}`, users.page({ search, limit: 5 }));
  await ask("operators", users.countOperators());
  await ask("the last operator stays", users.setOperator("usr_1", false));
  await ask("make an operator", users.setOperator("usr_2", true));
  await ask("unmake an operator", users.setOperator("usr_1", false));
  await ask("set a password", users.setPassword("usr_1", "y"));
  await ask("pending factor", users.setPendingFactor("usr_1", "S"));
  await ask("enable another factor", users.enableFactor("usr_1", { secret: "T", step: 5, recoveryHashes: ["a", "b"] }));
  await ask("enable the factor", users.enableFactor("usr_1", { secret: "S", step: 5, recoveryHashes: ["a", "b"] }));
  await ask("use a step", users.useStep("usr_1", 6));
  await ask("use it twice", users.useStep("usr_1", 6));
  await ask("use a code", users.useRecoveryCode("usr_1", "a"));
  await ask("use it twice", users.useRecoveryCode("usr_1", "a"));
  await ask("as it is then", users.find("usr_1"));
  await ask("disable the factor", users.disableFactor("usr_1"));
  const session = (id: string, user_id: string, at: number) => ({
    ...{ id, user_id, token_hash: `hash of ${id}`, address: "::1", user_agent: "agent" },
    ...{ created_at: at, last_seen_at: at, expires_at: at + day },
  });
  for (let i = 1; i <= 4; i++) await ask(`session ${i}`, sessions.insert(session(`ses_${i}`, "usr_1", t0 + i)));
  await ask("another's session", sessions.insert(session("ses_9", "usr_2", t0)));
  await ask("find a session", sessions.findByTokenHash("hash of ses_1", t0 + 5));
  await ask("one that has expired", sessions.findByTokenHash("hash of ses_1", t0 + 2 * day));
  await ask("touch", sessions.touch("ses_1", t0 + 50));
  await ask("seen last", users.find("usr_1"));
  await ask("keep two", sessions.keepNewest("usr_1", 2));
  await ask("sessions", sessions.list("usr_1", t0 + 5));
  await ask("revoke another's", sessions.revoke("usr_1", "ses_9"));
  await ask("revoke one", sessions.revoke("usr_1", "ses_4"));
  await ask("revoke all but", sessions.revokeAll("usr_1", "ses_3"));
  await ask("revoke of an account", sessions.revokeAccount("acc_b"));
  await ask("sweep", sessions.sweep(t0 + 2 * day));
  const link = (id: string, kind: number) => ({
    ...{ id, kind, token_hash: `hash of ${id}`, account_id: "acc_a", user_id: "usr_1", email: null },
    ...{ created_at: t0, expires_at: t0 + day, used_at: null },
  });
  for (const id of ["lnk_1", "lnk_2", "lnk_3"]) await ask(`link ${id}`, links.insert(link(id, 2)));
  await ask("find a link", links.findByTokenHash("hash of lnk_1", t0));
  await ask("use a link as another kind", links.use("hash of lnk_1", 1, t0));
  await ask("use a link", links.use("hash of lnk_1", 2, t0 + 1));
  await ask("use it twice", links.use("hash of lnk_1", 2, t0 + 2));
  await ask("withdraw", links.withdraw(2, "usr_1"));
  for (let i = 1; i <= 3; i++)
    await ask(
      `act ${i}`,
      auditEvents.insert({
        ...{ id: `act_${i}`, created_at: t0 + i, action: i === 2 ? "KeyService.CreateKey" : "UserService.SignIn" },
        ...{
          actor_kind: "user",
          actor_id: "usr_1",
          account_id: "acc_a",
          subject: "s",
          details: "{}",
          refused: "",
          address: "",
        },
      }),
    );
  await ask("acts", auditEvents.page({ limit: 2 }));
  await ask("acts of a kind", auditEvents.page({ accountId: "acc_a", action: "KeyService.CreateKey", limit: 5 }));
  await ask("acts before", auditEvents.page({ before: "act_2", limit: 5 }));
  await ask("remove a user", users.remove("usr_1"));
  await ask("the last operator stays", users.remove("usr_2"));
}

async function keys({ keys: store }: Stores, ask: Ask): Promise<void> {
  const key = (id: string, more: object = {}) => ({
    ...{ id, account_id: "acc_a", name: id, secret_hash: `hash of ${id}`, secret_mask: "sk-a…b", created_at: t0 },
    ...more,
  });
  await ask("insert a key", store.insert(key("key_1") as never));
  await ask(
    "insert one with a limit",
    store.insert(key("key_2", { credit_limit: 500, models: '["gpt"]', expires_at: t0 + day }) as never),
  );
  await ask("too many keys", store.insert(key("key_3") as never, 2));
  await ask("a key for the operator", store.insert(key("key_4", { is_admin: 1 }) as never));
  await ask("find by its secret", store.findBySecretHash("hash of key_1", t0));
  await ask("find one that has expired", store.findBySecretHash("hash of key_2", t0 + 2 * day));
  await ask("find none", store.findBySecretHash("hash", t0));
  await ask("find with its account", store.findWithAccount("key_2"));
  await ask("find an account's", store.find("acc_a", "key_2"));
  await ask("another's", store.find("acc_b", "key_2"));
  await ask("list", store.list("acc_a"));
  await ask("list all", store.list());
  await ask("page", store.page("acc_a", "key_1", 2));
  await ask("change", store.update("acc_a", "key_2", { name: "n", credit_limit: 700, disabled: 1 }));
  await ask("give a limit", store.update("acc_a", "key_1", { credit_limit: 900 }));
  await ask("take the limit", store.update("acc_a", "key_1", { credit_limit: null }));
  await ask("change another's", store.update("acc_b", "key_2", { name: "n" }));
  await ask("rotate", store.rotate("acc_a", "key_1", { hash: "new hash", mask: "sk-n…w", previousUntil: t0 + day }));
  await ask("by the new secret", store.findBySecretHash("new hash", t0));
  await ask("by the old secret", store.findBySecretHash("hash of key_1", t0 + 1));
  await ask("by the old secret, later", store.findBySecretHash("hash of key_1", t0 + 2 * day));
  await ask("administrator", store.setAdministrator("acc_a", "key_2", true));
  await ask("revoke", store.revoke("key_4", t0 + 3, "acc_a"));
  await ask("revoke twice", store.revoke("key_4", t0 + 4));
  await ask("rotate a revoked key", store.rotate("acc_a", "key_4", { hash: "h", mask: "m", previousUntil: null }));
}

async function money({ entries, redeemCodes, holds }: Stores, ask: Ask): Promise<void> {
  const entry = (id: string, kind: 1 | 2 | 3, amount: number, accountId = "acc_a") => ({
    id,
    accountId,
    kind,
    amount,
    note: "n",
    now: t0,
  });
  await ask("recharge", entries.record(entry("led_1", 1, 5000)));
  await ask("grant", entries.record(entry("led_2", 3, 300)));
  await ask("refund", entries.record(entry("led_3", 2, 1000)));
  await ask("refund too much", entries.record(entry("led_4", 2, 4001)));
  await ask("recharge beyond what can be counted", entries.record(entry("led_5", 1, 9e15)));
  await ask("recharge nobody", entries.record(entry("led_6", 1, 5, "acc_none")));
  await ask("find an entry", entries.find("led_2"));
  await ask("entries", entries.page("acc_a", { kinds: [], limit: 10 }));
  await ask("refunds and grants", entries.page("acc_a", { kinds: [2, 3], limit: 10 }));
  await ask("entries before", entries.page("acc_a", { kinds: [1], before: "led_2", limit: 10 }));
  const code = (n: number, more: object = {}) => ({
    ...{ id: `cod_${n}`, batch_id: "bat_1", code_hash: `hash ${n}`, code_mask: "m", amount: 10 * n, note: null },
    ...{ created_at: t0, expires_at: null, ...more },
  });
  await ask("codes", redeemCodes.insert([code(1), code(2, { expires_at: t0 + 5 }), code(3), code(4)]));
  await ask(
    "codes, one of them twice",
    redeemCodes.insert([code(5), code(1)]).catch(() => "refused"),
  );
  const claim = (n: number, now = t0) =>
    redeemCodes.claim({ codeHash: `hash ${n}`, accountId: "acc_a", entryId: `led_c${n}`, now });
  await ask("claim", claim(1));
  await ask("claim twice", claim(1));
  await ask("claim one that has expired", claim(2, t0 + 9));
  await ask("claim none", claim(9));
  await ask("revoke codes", redeemCodes.revoke("bat_1", t0 + 7));
  await ask("revoke none", redeemCodes.revoke("bat_9", t0 + 7));
  await ask("page of codes", redeemCodes.page({ batchId: "bat_1", before: "cod_4", limit: 2 }));
  await ask("holds", holds.total());
  await ask("holds of an account", holds.list("acc_a", t0, 5));
}

async function answersKept({ responses, backgroundResponses, replays, idempotency }: Stores, ask: Ask): Promise<void> {
  const response = (n: number, previous: string | null = null) => ({
    ...{ id: `resp_${n}`, account_id: "acc_a", previous_id: previous, created_at: t0 + n, expires_at: t0 + day },
    ...{ input: n === 2 ? null : "[1]", response: `{"ü":${n}}` },
  });
  for (const [n, previous] of [
    [1, null],
    [2, "resp_1"],
    [3, "resp_2"],
  ] as const)
    await ask(`response ${n}`, responses.insert(response(n, previous), 3));
  await ask("one too many", responses.insert(response(4), 3));
  await ask("find", responses.find("acc_a", ["resp_2", "resp_1", "resp_9"], t0));
  await ask("sizes", responses.sizes("acc_a", ["resp_3", "resp_4"], t0));
  await ask("line", responses.line("acc_a", "resp_3", t0));
  await ask("line of one that has expired", responses.line("acc_a", "resp_3", t0 + 2 * day));
  await ask("delete", responses.delete("acc_a", "resp_2", t0));
  await ask("delete twice", responses.delete("acc_a", "resp_2", t0));
  const background = (n: number) => ({
    ...{ id: `resp_b${n}`, account_id: "acc_a", node: "nod_1", created_at: t0 + n, expires_at: t0 + day },
    ...{ alive_until: t0 + 1000, response: `{"n":${n}}` },
  });
  for (const n of [1, 2, 3]) await ask(`background ${n}`, backgroundResponses.insert(background(n), 9));
  await ask("find in the background", backgroundResponses.find("acc_a", "resp_b1", t0));
  await ask("update", backgroundResponses.update("resp_b1", '{"n":"1a"}'));
  await ask("cancel", backgroundResponses.cancel("acc_a", "resp_b2"));
  await ask("cancelled", backgroundResponses.cancelled("nod_1"));
  await ask("renew", backgroundResponses.renew(["resp_b1", "resp_b2"], t0 + 9000));
  await ask("end", backgroundResponses.end("resp_b2", '{"n":"2a"}'));
  await ask("complete", backgroundResponses.complete({ ...response(9), id: "resp_b1" }, 9));
  await ask("after that", backgroundResponses.find("acc_a", "resp_b1", t0));
  await ask("one whose process died", backgroundResponses.find("acc_a", "resp_b3", t0 + 2000));
  await ask("delete one", backgroundResponses.delete("acc_a", "resp_b2", t0));
  const claim = (n: number, more: object = {}) => ({
    ...{
      accountId: "acc_a",
      keyHash: `key ${n}`,
      requestHash: "r",
      requestId: `req_${n}`,
      node: "nod_1",
      now: t0,
      expiresAt: t0 + 1000,
    },
    ...more,
  });
  await ask("claim a replay", replays.claim(claim(1)));
  await ask("claim it twice", replays.claim(claim(1)));
  await ask("claim it for another request", replays.claim(claim(1, { requestHash: "s" })));
  await ask("keep", replays.keep(claim(1), Buffer.from([0, 255, 7])));
  await ask("answered", replays.claim(claim(1)));
  await ask("claim another", replays.claim(claim(2)));
  await ask("free it", replays.free(claim(2)));
  await ask("claim it again", replays.claim(claim(2)));
  await ask("keep what was too long", replays.keep(claim(2), undefined));
  await ask("too large", replays.claim(claim(2)));
  await ask("claim a third", replays.claim(claim(3)));
  await ask("renew", replays.renew("nod_1", ["req_3"], t0 + 5000));
  const late = { now: t0 + 6000, expiresAt: t0 + 9000, node: "nod_2", requestId: "req_4" };
  await ask("one whose process may have died", replays.claim(claim(3, late)));
  await ask("the same for another request", replays.claim(claim(3, { ...late, requestHash: "s" })));
  await ask("one whose process died", replays.claim(claim(3, { ...late, endedNode: "nod_1" })));
  const once = (fingerprint: string, id: string) =>
    idempotency.once({ scope: "s", key: "k", fingerprint }, t0, async () => id);
  await ask("once", once("f", "led_1"));
  await ask("again", once("f", "led_2"));
  await ask("something else", once("g", "led_3"));
}

async function transactions({ accounts: outer, transact }: StoresUnderTest, ask: Ask): Promise<void> {
  const insert = (stores: Stores, id: string) =>
    stores.accounts.insert({ id, name: id, created_at: t0, suspended_at: null });
  await ask(
    "a transaction",
    transact((stores) => insert(stores, "acc_t1")),
  );
  await ask(
    "one that fails",
    transact(async (stores) => {
      await insert(stores, "acc_t2");
      throw new Error("undone");
    }),
  );
  await ask(
    "one that locks",
    transact(async (stores) => stores.accounts.lock("acc_a")),
  );
  await ask(
    "one that asks outer stores",
    transact(() => outer.find("acc_a")),
  );
  await ask("what is there", outer.page({ search: "acc_t", limit: 5 }));
}

async function refusedCalls(refused: Stores["refused"], ask: Ask): Promise<void> {
  const count = (key_id: string, reason: number, requests: number) => ({
    ...{ account_id: "acc_a", minute: t0 - (t0 % 60_000), key_id, model: "m0", reason, node: "nod_a", requests },
  });
  const call = (number: number, reason: number) => ({
    ...{ id: callId(number), account_id: "acc_a", key_id: "key_1", operation: "chat", model: "m0", reason },
    ...{ status: 429, detail: "too many", created_at: t0 },
  });
  const calls = [call(1, 25), call(2, 9)];
  await ask("refused calls", refused.write({ counts: [count("key_1", 25, 3), count("key_2", 9, 1)], calls }));
  await ask("the same again, and more", refused.write({ counts: [count("key_1", 25, 5)], calls }));
  await ask("those that were refused", refused.page({ accountId: "acc_a" }, undefined, 10));
  await ask("for a reason", refused.page({ reasons: [9] }, undefined, 10));
  await ask("one of them", refused.find(callId(1), "acc_a"));
  await ask("another's refused call", refused.find(callId(1), "acc_b"));
  for (const groupBy of ["reason", "key_id", "model", "account_id", undefined] as const) {
    const span = { accountId: "acc_a", from: t0 - day, to: t0 + day, bucketMs: 3_600_000, groupBy };
    await ask(`refused calls by ${groupBy}`, refused.sums(span, 10));
  }
}

async function calls({ requests, refused, entries, keys: keyStore }: Stores, ask: Ask): Promise<void> {
  await ask("find a call", requests.find("acc_a", callId(1)));
  await ask("another's call", requests.find("acc_b", callId(1)));
  await ask("anybody's", requests.findAny(callId(2)));
  await ask("calls", requests.page({ accountId: "acc_a" }, undefined, 10));
  await ask("before", requests.page({ accountId: "acc_a" }, callId(3), 2));
  for (const filter of [
    { keyId: "key_2" },
    { model: "m1" },
    { outcomes: [2] },
    { isCharged: true },
    { upstream: "u" },
    { upstream: "nowhere" },
    { keyId: "key_1", model: "m1" },
    { from: t0 + 2 * 3_600_000 },
  ])
    await ask(
      `calls by ${JSON.stringify(filter)}`,
      requests.page({ accountId: "acc_a", ...filter } as never, undefined, 10),
    );
  await ask("of all", requests.pageOfAll({}, undefined, 3));
  await ask("of all, those that failed", requests.pageOfAll({ outcomes: [2] }, undefined, 3));
  await ask("of all, those at an upstream", requests.pageOfAll({ upstream: "mill" }, undefined, 3));
  await refusedCalls(refused, ask);
  const of = { accountId: "acc_a", from: t0 - day, to: t0 + day, limit: 50 };
  for (const bucketMs of [3_600_000, day])
    for (const [byKey, byModel] of [
      [false, false],
      [true, false],
      [true, true],
    ] as const)
      await ask(`sums by ${bucketMs} ${byKey} ${byModel}`, requests.sums({ ...of, bucketMs, byKey, byModel }));
  await ask(
    "sums of a key",
    requests.sums({ ...of, keyId: "key_2", model: "m0", bucketMs: day, byKey: false, byModel: false }),
  );
  const summed = { from: t0 - day, to: t0 + day, bucketMs: day };
  for (const groupBy of ["model", "key_id", "upstream", "outcome", "operation", "account_id", undefined] as const)
    await ask(`a summary by ${groupBy}`, requests.summarize({ ...summed, groupBy }, { calls: 100, groups: 1 }));
  await ask(
    "a summary of those that failed",
    requests.summarize({ ...summed, groupBy: "model", accountId: "acc_a", outcomes: [2] }, { calls: 100, groups: 9 }),
  );
  await ask("charges", entries.page("acc_a", { kinds: [4], limit: 5 }));
  await ask("all entries", entries.page("acc_a", { kinds: [], limit: 50 }));
  await ask("keys with what they spent", keyStore.list("acc_a"));
}

/** The id of a call that came in the n-th hour. */
function callId(n: number): string {
  return `req_${(t0 + n * 1_800_000).toString(36).padStart(9, "0")}${String(n).padStart(12, "0")}`;
}

/** Rows of calls, two an hour, of two keys and two models; every third failed. */
export function callRows() {
  return Array.from({ length: 9 }, (_, n) => ({
    ...{
      id: callId(n),
      account_id: "acc_a",
      key_id: `key_${1 + (n % 2)}`,
      operation: "chat",
      model: `m${n % 2}`,
      upstream: "u",
    },
    ...{
      outcome: n % 3 === 2 ? 2 : 1,
      input: n,
      cache_read: 0,
      cache_write: 0,
      output: 2 * n,
      reasoning: 0,
      characters: 0,
    },
    ...{
      estimated: 0,
      cost: n % 3 === 2 ? 0 : 10 * n,
      created_at: t0 + n * 1_800_000,
      duration_ms: 5,
      first_byte_ms: n % 2 ? 3 : null,
    },
  }));
}
