/** The audit log: actions and refusals, by whom and from where, and never a secret. */
import { connect } from "node:net";
import { create, type DescMethod, type JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AccountService, EntryKind } from "../../../gen/modelgateway/v1/accounts_pb.ts";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { KeyService } from "../../../gen/modelgateway/v1/keys_pb.ts";
import { OperatorService } from "../../../gen/modelgateway/v1/operator_pb.ts";
import { SessionService, SignInResponseSchema } from "../../../gen/modelgateway/v1/sessions_pb.ts";
import { UsageService } from "../../../gen/modelgateway/v1/usage_pb.ts";
import { type Answer, anyRoom, type Call, type Caller, nobody } from "../../../src/call/call.ts";
import { newCallRecord } from "../../../src/call/call-record.ts";
import { invalidValue, missingField, rateLimited, signInFailed } from "../../../src/call/refusals.ts";
import { operatorClient } from "../../../src/commands/operator.ts";
import { loadConfig } from "../../../src/config/config.ts";
import { accessOf } from "../../../src/pipeline/admit/authorize.ts";
import { audit } from "../../../src/pipeline/check/audit.ts";
import { newId } from "../../../src/runtime/ids.ts";
import { openDatabase } from "../../../src/storage/engines/sqlite/database.ts";
import type { NewAuditEvent } from "../../../src/storage/people/audit-events.ts";
import { Wire } from "../../../src/wire/wire.ts";
import { askRpc, bearer, signIn } from "../../support/dashboard/session.ts";
import { eventually } from "../../support/eventually.ts";
import { now, startTestGateway, type TestGateway } from "../../support/gateway.ts";
import { openAccount } from "../../support/payer.ts";
import { onSqlite } from "../../support/storage/test-database.ts";

const operatorKey = "operator-key-of-the-test";
let gateway: TestGateway;
let time = now;
let plainKey: string;

beforeAll(async () => {
  // The clock moves by a second at each reading, so that the order of events is that of their times.
  const clock = () => (time += 1000);
  gateway = await startTestGateway({ operatorKey }, { admin: true, clock });
  const made = await ask("KeyService.CreateKey", { name: "plain" }, bearer(gateway.apiKey));
  plainKey = (made.json.key as JsonObject).secret as string;
});

afterAll(() => gateway.close());

function ask(name: string, request: JsonObject, headers: Readonly<Record<string, string>> = bearer(operatorKey)) {
  return askRpc(gateway, name, request, headers);
}

/** The events that the operator sees, newest first. */
async function listed(filter: JsonObject = {}): Promise<JsonObject[]> {
  const { status, json } = await ask("OperatorService.ListAudit", filter);
  expect(status).toBe(200);
  return (json.acts ?? []) as JsonObject[];
}

/** The events that some work leaves, oldest first. */
async function actsOf(work: () => Promise<unknown>): Promise<JsonObject[]> {
  const before = new Set((await listed({ pageSize: 1000 })).map(({ id }) => id));
  await work();
  const all = await listed({ pageSize: 1000 });
  return all.filter(({ id }) => !before.has(id)).reverse();
}

/** All that the database stores of events. */
async function everything(): Promise<string> {
  return JSON.stringify(await gateway.storage.auditEvents.page({ limit: 10_000 }));
}

describe("an act", () => {
  test("of an API key names it, what it did to what, and from where, but not the secret it made", async () => {
    let made: JsonObject = {};
    const [act, ...others] = await actsOf(async () => {
      const request = { name: "for ci", creditLimit: { amount: "5000000" }, models: { text: "family:embedded" } };
      const { json } = await ask("KeyService.CreateKey", request, bearer(gateway.apiKey));
      made = json.key as JsonObject;
    });
    expect(others).toEqual([]);
    expect(act).toEqual({
      id: expect.stringMatching(/^act_[0-9a-z]{25}$/),
      createdAt: expect.any(String),
      action: "KeyService.CreateKey",
      actor: { kind: "key", id: gateway.keyId, name: "test" },
      accountId: gateway.accountId,
      subject: made.id,
      details: '{"name":"for ci","credit_limit":"5.00","models":"family:embedded"}',
      address: "127.0.0.1",
    });
    expect(made.secret).toMatch(/^sk-/);
    expect(await everything()).not.toContain(made.secret);
  });

  test("over HTTP is the same as over an RPC", async () => {
    const [act] = await actsOf(() =>
      fetch(`${gateway.rootUrl}/api/v1/user/admin/create-api-token`, {
        method: "POST",
        headers: { ...bearer(gateway.apiKey), "content-type": "application/x-www-form-urlencoded" },
        body: "name=form&credit_limit=5&models=family:embedded",
      }),
    );
    expect(act).toMatchObject({
      action: "KeyService.CreateKey",
      actor: { kind: "key", id: gateway.keyId },
      subject: expect.stringMatching(/^key_/),
      details: '{"name":"form","credit_limit":"5.00","models":"family:embedded"}',
    });
  });

  test("that is refused says why, and of what is no id nothing", async () => {
    const unknown = `key_${"0".repeat(25)}`;
    const acts = await actsOf(async () => {
      await ask("KeyService.DeleteKey", { id: unknown }, bearer(gateway.apiKey));
      await ask("KeyService.DeleteKey", { id: plainKey }, bearer(gateway.apiKey));
      await ask("KeyService.CreateKey", { name: "" }, bearer(gateway.apiKey));
    });
    expect(acts).toMatchObject([
      { action: "KeyService.DeleteKey", refused: "RESOURCE_NOT_FOUND", subject: unknown },
      { action: "KeyService.DeleteKey", refused: "RESOURCE_NOT_FOUND" },
      { action: "KeyService.CreateKey", refused: "INVALID_VALUE", details: '{"name":""}' },
    ]);
    expect(acts[1]).not.toHaveProperty("subject");
    expect(await everything()).not.toContain(plainKey);
  });

  test("tells no field that the contract does not name, and no more than the beginning of a long one", async () => {
    const acts = await actsOf(async () => {
      await fetch(`${gateway.rootUrl}/api/v1/user/admin/create-api-token`, {
        method: "POST",
        headers: { ...bearer(gateway.apiKey), "content-type": "application/json" },
        body: JSON.stringify({ name: "n".repeat(100_000), is_admin: "hidden" }),
      });
      await ask("OperatorService.UpdateAccount", { account: "no such account of ours", name: "x" });
    });
    expect(acts.map(({ refused }) => refused)).toEqual(["INVALID_VALUE", "RESOURCE_NOT_FOUND"]);
    expect(String(acts[0]?.details).length).toBeLessThan(2100);
    expect(JSON.stringify(acts)).not.toContain("hidden");
    expect(acts[1]?.details).toBe('{"name":"x"}');
  });

  test("of the operator is told with the account that it was done to, by whatever name the request calls it", async () => {
    const { json } = await ask("OperatorService.CreateAccount", { name: "acme" });
    const id = (json.account as JsonObject).id as string;
    const acts = await actsOf(async () => {
      const recharge = { account: "acme", kind: "ENTRY_KIND_RECHARGE", amount: "5000000", note: "invoice 17" };
      await ask("OperatorService.RecordEntry", recharge);
      await ask("OperatorService.RecordEntry", { ...recharge, kind: "ENTRY_KIND_REFUND", amount: "900000000" });
      await ask("OperatorService.UpdateAccount", { account: "acme", name: "acme & sons" });
    });
    const actor = { kind: "operator_key" };
    expect(acts).toMatchObject([
      {
        ...{ action: "OperatorService.RecordEntry", actor, accountId: id, subject: id },
        details: '{"kind":"recharge","amount":"5.00","note":"invoice 17"}',
      },
      { action: "OperatorService.RecordEntry", actor, accountId: id, refused: "CONFLICT" },
      { action: "OperatorService.UpdateAccount", actor, accountId: id, subject: id, details: '{"name":"acme & sons"}' },
    ]);
    expect(await listed({ account: "acme & sons" })).toHaveLength(4);
    expect(await everything()).not.toContain(operatorKey);
  });

  test("that repeats another under its Idempotency-Key says that it did nothing", async () => {
    await ask("OperatorService.CreateAccount", { name: "once" });
    const recharge = { account: "once", kind: "ENTRY_KIND_RECHARGE", amount: "5000000" };
    const headers = { ...bearer(operatorKey), "idempotency-key": "invoice 17" };
    const acts = await actsOf(async () => {
      await ask("OperatorService.RecordEntry", recharge, headers);
      await ask("OperatorService.RecordEntry", recharge, headers);
      await ask("OperatorService.RecordEntry", { ...recharge, amount: "6000000" }, headers);
    });
    expect(acts).toMatchObject([
      { details: '{"kind":"recharge","amount":"5.00"}' },
      { details: '{"kind":"recharge","amount":"5.00","replayed":true}' },
      { details: '{"kind":"recharge","amount":"6.00"}', refused: "IDEMPOTENCY_CONFLICT" },
    ]);
  });

  test("of the command line has no address", async () => {
    const command = operatorClient(gateway.storage, loadConfig(undefined, {}));
    await command(OperatorService.method.createAccount, { name: "by command" });
    const grant = { account: "by command", kind: EntryKind.GRANT, amount: -1n };
    await expect(command(OperatorService.method.recordEntry, grant)).rejects.toThrow();
    const acts = await listed({ account: "by command" });
    expect(acts).toMatchObject([
      { action: "OperatorService.RecordEntry", actor: { kind: "command_line" }, refused: "INVALID_VALUE" },
      { action: "OperatorService.CreateAccount", actor: { kind: "command_line" } },
    ]);
    expect(acts[0]).not.toHaveProperty("address");
  });

  test("of somebody signed in names the user, as long as there is one", async () => {
    const boss = await signIn(gateway, time, { operator: true, email: "boss@example.com" });
    const other = await signIn(gateway, time, { operator: true, email: "other@example.com" });
    const acts = await actsOf(async () => {
      await ask("KeyService.CreateKey", { name: "by hand" }, (await boss).headers);
      await ask("OperatorService.RemoveUser", { userId: (await boss).userId }, (await other).headers);
    });
    expect(acts).toMatchObject([
      {
        action: "KeyService.CreateKey",
        actor: { kind: "user", id: (await boss).userId },
        accountId: gateway.accountId,
      },
      {
        ...{ action: "OperatorService.RemoveUser", subject: (await boss).userId, accountId: gateway.accountId },
        actor: { kind: "user", id: (await other).userId, name: "other@example.com" },
      },
    ]);
    expect(acts[0]?.actor).not.toHaveProperty("name");
  });

  test("of somebody who fails to sign in names nobody, and keeps the e-mail address and not the password", async () => {
    const [act] = await actsOf(async () => {
      const { reason } = await ask(
        "SessionService.SignIn",
        { email: "eve@example.com", password: "a wrong guess" },
        {},
      );
      expect(reason).toBe("SIGN_IN_FAILED");
    });
    expect(act).toMatchObject({
      ...{
        action: "SessionService.SignIn",
        actor: { kind: "nobody" },
        refused: "SIGN_IN_FAILED",
        address: "127.0.0.1",
      },
      details: '{"email":"eve@example.com"}',
    });
    expect(await everything()).not.toContain("a wrong guess");
  });

  test("is none for what was not admitted, and for what only looks", async () => {
    const acts = await actsOf(async () => {
      expect((await ask("KeyService.CreateKey", { name: "x" }, bearer(plainKey))).status).toBe(403);
      expect((await ask("KeyService.CreateKey", { name: "x" }, bearer("nobody's"))).status).toBe(401);
      expect((await ask("OperatorService.ListAccounts", {})).status).toBe(200);
      expect((await ask("KeyService.ListKeys", {}, bearer(gateway.apiKey))).status).toBe(200);
    });
    expect(acts).toEqual([]);
  });
});

test("acts are listed newest first, by account and RPC, page by page", async () => {
  await ask("OperatorService.CreateAccount", { name: "paged" });
  for (const postpaid of [true, false, true])
    await ask("OperatorService.UpdateAccount", { account: "paged", postpaid });
  const filter = { account: "paged", action: "OperatorService.UpdateAccount" };
  const detailsOf = (acts: readonly JsonObject[]) => acts.map(({ details }) => details);
  expect(detailsOf(await listed(filter))).toEqual(['{"postpaid":true}', '{"postpaid":false}', '{"postpaid":true}']);
  const { json: page } = await ask("OperatorService.ListAudit", { ...filter, pageSize: 2 });
  expect(page.acts).toHaveLength(2);
  const { json: rest } = await ask("OperatorService.ListAudit", { ...filter, pageToken: page.nextPageToken as string });
  expect(detailsOf(rest.acts as JsonObject[])).toEqual(['{"postpaid":true}']);
  expect(rest).not.toHaveProperty("nextPageToken");
  expect(await listed({ account: "paged" })).toHaveLength(4);
  expect((await ask("OperatorService.ListAudit", { account: "none such" })).reason).toBe("RESOURCE_NOT_FOUND");
});

test("events are listed by who caused them, and by a span of time, to the millisecond", async () => {
  const { accountId } = await openAccount(gateway);
  const { userId } = await signIn(gateway, now, { accountId, email: "usr_By@example.com" });
  const at = Date.UTC(2020, 0, 1);
  const event = {
    action: "KeyService.CreateKey",
    account_id: accountId,
    subject: "",
    details: "{}",
    refused: "",
    address: "",
  };
  const ids: string[] = [];
  for (const [ms, actor_kind, actor_id] of [
    [0, "user", userId],
    [1, "user", "usr_removed"],
    [2, "key", "key_gone"],
    [3, "command_line", ""],
  ] as const) {
    const id = newId("act", at + ms);
    ids.push(id);
    await gateway.storage.auditEvents.insert({ ...event, id, created_at: at + ms, actor_kind, actor_id });
  }
  const found = async (filter: JsonObject) => {
    const acts = await listed({ account: accountId, ...filter });
    return acts.map(({ id }) => ids.indexOf(id as string)).sort();
  };
  expect(await found({})).toEqual([0, 1, 2, 3]);
  for (const actor of [userId, "usr_by@EXAMPLE.com"]) expect(await found({ actor })).toEqual([0]);
  expect(await found({ actor: "usr_removed" })).toEqual([1]);
  expect(await found({ actor: "key_gone" })).toEqual([2]);
  expect(await found({ actor: "command_line" })).toEqual([3]);
  expect(await found({ actor: "user" })).toEqual([0, 1]);
  const moment = (ms: number) => new Date(at + ms).toISOString();
  expect(await found({ from: moment(1), to: moment(3) })).toEqual([1, 2]);
  expect(await found({ from: moment(1), to: moment(3), actor: "key" })).toEqual([2]);
  const refused = async (filter: JsonObject) => (await ask("OperatorService.ListAudit", filter)).reason;
  expect(await refused({ actor: "nobody@example.com" })).toBe("RESOURCE_NOT_FOUND");
  expect(await refused({ actor: "ada" })).toBe("INVALID_VALUE");
  expect(await refused({ from: moment(3), to: moment(3) })).toBe("INVALID_VALUE");
});

onSqlite(() =>
  test("events of an actor are looked up along an index, and never sorted", async () => {
    const { engine, db } = await openDatabase(gateway.database.path);
    const plan = engine
      .prepare<unknown[], { detail: string }>(
        "EXPLAIN QUERY PLAN SELECT * FROM acts WHERE actor_kind = ? AND actor_id = ? AND id >= ? ORDER BY id DESC LIMIT 9",
      )
      .all("user", "usr_1", "act_1")
      .map(({ detail }) => detail)
      .join("; ");
    expect(plan).toContain("acts_actor");
    expect(plan).not.toContain("TEMP B-TREE");
    await db.destroy();
  }),
);

describe("the step that writes them", () => {
  const { signIn: signInRpc } = SessionService.method;
  const password = "correct horse battery";

  /** Handles a call, and returns the events. */
  async function written(
    method: DescMethod,
    request: JsonObject,
    handle: () => Promise<Answer>,
    { caller = nobody, fails = false }: { caller?: Caller; fails?: boolean } = {},
  ): Promise<{ acts: NewAuditEvent[]; errors: unknown[]; outcome: PromiseSettledResult<Answer> }> {
    const [acts, errors]: [NewAuditEvent[], unknown[]] = [[], []];
    const insert = async (act: NewAuditEvent) => {
      if (fails) throw new Error("the disk is full");
      acts.push(act);
    };
    const { accounts, users } = gateway.storage;
    const storage = { accounts, users, auditEvents: { insert } };
    const options = { storage, newId, clock: () => now, onError: (error: unknown) => void errors.push(error) };
    const call = {
      ...{ id: "req_1", method, caller, header: () => undefined, signal: new AbortController().signal },
      ...{ request: Wire.ofJson(method.input, request), peer: { address: "192.0.2.1", rootUrl: "" } },
      ...{ record: newCallRecord(), body: anyRoom },
    } as Call;
    const [outcome] = await Promise.allSettled([audit(handle, [method], options)(call)]);
    return { acts, errors, outcome: outcome as PromiseSettledResult<Answer> };
  }

  const signedIn = (id: string): Answer => {
    const user = { id, email: "ann@example.com", accountId: gateway.accountId };
    return { kind: "whole", body: Wire.ofMessage(SignInResponseSchema, create(SignInResponseSchema, { user })) };
  };

  test("knows by the answer who signed in, and of who was refused only the address they gave", async () => {
    const request = { email: "ann@example.com", password };
    const done = await written(signInRpc, request, async () => signedIn("usr_1"));
    expect(done.acts).toMatchObject([
      {
        ...{ action: "SessionService.SignIn", actor_kind: "user", actor_id: "usr_1", subject: "usr_1" },
        ...{ account_id: gateway.accountId, details: '{"email":"ann@example.com"}', refused: "", address: "192.0.2.1" },
      },
    ]);
    const refused = await written(signInRpc, request, () => Promise.reject(signInFailed()));
    expect(refused.acts).toMatchObject([
      {
        ...{ actor_kind: "nobody", actor_id: "", subject: "", account_id: "", refused: "SIGN_IN_FAILED" },
        details: '{"email":"ann@example.com"}',
      },
    ]);
    expect(JSON.stringify([done.acts, refused.acts])).not.toContain(password);
  });

  test("writes nothing of what is refused for its rate", async () => {
    const { acts, outcome } = await written(signInRpc, {}, () => Promise.reject(rateLimited("5 attempts", 1000)));
    expect(acts).toEqual([]);
    expect(outcome.status).toBe("rejected");
  });

  test("tells of a request that fits no message that it was refused, and nothing of it", async () => {
    const { createKey } = KeyService.method;
    const request = { name: ["for ci"] };
    const handle = async () => {
      Wire.ofJson(createKey.input, request).message();
      return signedIn("usr_1");
    };
    const { acts } = await written(createKey, request, handle);
    expect(acts).toMatchObject([{ details: "{}", refused: "INVALID_TYPE" }]);
  });

  test("writes nothing of what anybody may send and is refused for its form: it may come at any rate", async () => {
    const formless = { email: "a".repeat(3000) };
    for (const refusal of [missingField("password"), invalidValue("email", "too long")]) {
      expect((await written(signInRpc, formless, () => Promise.reject(refusal))).acts).toEqual([]);
    }
    const { createKey } = KeyService.method;
    const byKey = await written(createKey, { name: "x" }, () => Promise.reject(missingField("name")));
    expect(byKey.acts).toHaveLength(1);
  });

  test("tells nothing of what is no e-mail address in the place of one: it may be the password", async () => {
    const mixed = await written(signInRpc, { email: password, password: "x" }, () => Promise.reject(signInFailed()));
    expect(mixed.acts).toMatchObject([{ details: "{}", refused: "SIGN_IN_FAILED" }]);
  });

  test("takes nobody for the command line who cuts the connection, and knows where it came from", async () => {
    const create = JSON.stringify({ name: "cut" });
    const head = [
      "POST /modelgateway.v1.OperatorService/CreateAccount HTTP/1.1",
      `host: x\r\nauthorization: Bearer ${operatorKey}\r\ncontent-type: application/json`,
      `content-length: ${create.length}`,
    ].join("\r\n");
    const socket = connect(gateway.port, "127.0.0.1");
    // The gateway has accepted the connection before it is cut.
    socket.write(head.slice(0, 20));
    await ask("OperatorService.ListAccounts", {});
    await new Promise<void>((sent) => socket.write(`${head.slice(20)}\r\n\r\n${create}`, () => sent()));
    socket.resetAndDestroy();
    await eventually(async () => expect(await listed({ account: "cut" })).toHaveLength(1));
    const [act] = await listed({ account: "cut" });
    expect(act).toMatchObject({ actor: { kind: "operator_key" }, address: "127.0.0.1" });
  });

  test("fails no call whose act it cannot write", async () => {
    const { outcome, errors } = await written(signInRpc, {}, async () => signedIn("usr_1"), { fails: true });
    expect(outcome.status).toBe("fulfilled");
    expect(errors).toHaveLength(1);
  });

  test("stops the start for a field that there is not", () => {
    const { deleteKey, describeKey, createKey } = KeyService.method;
    const options = { storage: gateway.storage, newId, clock: () => now, onError: () => {} };
    const start = (method: DescMethod) => () => audit(async () => signedIn("usr_1"), [method], options);
    expect(start(deleteKey)).not.toThrow();
    const { input, output } = describeKey;
    expect(start({ ...deleteKey, input, output } as DescMethod)).toThrow(
      "DeleteKey cannot be audited: it has the subject",
    );
    expect(start({ ...createKey, input } as DescMethod)).toThrow("it tells `name`");
    expect(start({ ...deleteKey, methodKind: "server_streaming" } as DescMethod)).toThrow("streams");
  });
});

test("the contract has every RPC audited that changes something, and tells no field that holds a secret", () => {
  const services = [AccountService, InferenceService, KeyService, OperatorService, SessionService, UsageService];
  const methods = services.flatMap((service) => service.methods);
  const looks =
    /^(?:List|Get|Describe|Explain|Export|Reconcile|Count|Summarize|Stream|Follow|Compare|Preview|Measure|Create(?:Chat|Message|Response|Completion|Emb|Speech))/;
  const unaudited = methods.filter((method) => !accessOf(method).audit && !looks.test(method.name));
  // Stored and background answers are content, and a second factor has no effect before it is enabled.
  expect(unaudited.map(({ name }) => name)).toEqual(["CancelResponse", "DeleteResponse", "BeginSecondFactor"]);
  const told = methods.flatMap((method) => accessOf(method).audit?.tells ?? []);
  expect(told.filter((name) => /(?:^|_)(?:secret|password|link|codes?|token|current)(?:_|$)/.test(name))).toEqual([]);
});
