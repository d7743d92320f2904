/** The administrator privilege of a key: given and taken in the dashboard, by a person, and by nothing else that can be sent. */
import {
  create,
  type DescMessage,
  type DescMethod,
  getOption,
  type JsonObject,
  type MessageInitShape,
  toBinary,
} from "@bufbuild/protobuf";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { http } from "../../../gen/google/api/annotations_pb.ts";
import { Caller } from "../../../gen/modelgateway/v1/access_pb.ts";
import { AccountService } from "../../../gen/modelgateway/v1/accounts_pb.ts";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { KeyService } from "../../../gen/modelgateway/v1/keys_pb.ts";
import { OperatorService } from "../../../gen/modelgateway/v1/operator_pb.ts";
import { SessionService } from "../../../gen/modelgateway/v1/sessions_pb.ts";
import { UsageService } from "../../../gen/modelgateway/v1/usage_pb.ts";
import { accessOf } from "../../../src/pipeline/admit/authorize.ts";
import { issueKey } from "../../../src/services/keys/issue-key.ts";
import { askRpc, bearer, type SignedIn, signIn } from "../../support/dashboard/session.ts";
import { now, startTestGateway, type TestGateway } from "../../support/gateway.ts";
import { openAccount } from "../../support/payer.ts";

const operatorKey = "operator-key-of-the-test";
const services = [AccountService, InferenceService, KeyService, OperatorService, SessionService, UsageService];
const open = services
  .flatMap((service) => service.methods)
  .filter((method) => accessOf(method).caller !== Caller.SESSION);

let gateway: TestGateway;
let person: SignedIn;
let time = now;

beforeAll(async () => {
  // The clock advances, so that no call exceeds its rate limit.
  const clock = () => (time += 1000);
  gateway = await startTestGateway({ operatorKey }, { admin: true, clock });
  person = await signIn(gateway, now);
});

afterAll(() => gateway.close());

function newKey(admin = false, accountId = gateway.accountId) {
  return issueKey(gateway.storage.keys, { accountId, name: "one of many", admin, now });
}

const isAdmin = async (id: string) => (await gateway.storage.keys.findWithAccount(id))?.is_admin === 1;

function set(id: string, administrator: boolean, headers: Readonly<Record<string, string>> = person.headers) {
  return askRpc(gateway, "KeyService.SetAdministrator", { id, administrator }, headers);
}

describe("a person who is signed in", () => {
  test("gives a key the privilege and takes it away, from the next call on", async () => {
    const { key, secret } = await newKey();
    const asKey = () => askRpc(gateway, "AccountService.GetAccount", {}, bearer(secret));
    expect((await asKey()).status).toBe(403);
    const given = await set(key.id, true);
    expect(given.json.key).toMatchObject({ id: key.id, isAdmin: true });
    expect(given.json.key).not.toHaveProperty("secret");
    expect((await asKey()).status).toBe(200);
    expect((await set(key.id, false)).json.key).not.toHaveProperty("isAdmin");
    expect((await asKey()).status).toBe(403);
  });

  test("finds no key of another account, none that was revoked, and none that never was", async () => {
    const foreign = (await newKey(false, (await openAccount(gateway)).accountId)).key.id;
    const revoked = (await newKey()).key.id;
    await gateway.storage.keys.revoke(revoked, now);
    for (const id of [foreign, revoked, `key_${"0".repeat(25)}`, (await newKey()).secret]) {
      expect((await set(id, true)).reason).toBe("RESOURCE_NOT_FOUND");
    }
    expect([await isAdmin(foreign), await isAdmin(revoked)]).toEqual([false, false]);
  });

  test("says which, for nothing is meant by a request that does not", async () => {
    const { key } = await newKey(true);
    const told = await askRpc(gateway, "KeyService.SetAdministrator", { id: key.id }, person.headers);
    expect(told.reason).toBe("MISSING_FIELD");
    expect(await isAdmin(key.id)).toBe(true);
  });
});

test("no other credential gives the privilege or takes it away: not an administrator key's, and not the operator's", async () => {
  const [ordinary, admin] = [(await newKey()).key.id, (await newKey(true)).key.id];
  const bySession = (key: string) => ({ ...person.headers, "x-gateway-key": key });
  const refused: readonly [Readonly<Record<string, string>>, string][] = [
    [bearer(gateway.apiKey), "PERMISSION_DENIED"],
    [bearer(operatorKey), "PERMISSION_DENIED"],
    [bearer((await newKey()).secret), "PERMISSION_DENIED"],
    [bySession(ordinary), "PERMISSION_DENIED"],
    [bySession(admin), "PERMISSION_DENIED"],
    [{}, "INVALID_API_KEY"],
    // A cookie does not make a key's call a person's.
    [{ ...person.headers, ...bearer(gateway.apiKey) }, "PERMISSION_DENIED"],
    // Another site's page has the browser send the cookie, and nothing else.
    [{ cookie: person.headers.cookie as string }, "CROSS_SITE"],
  ];
  for (const [headers, reason] of refused) {
    for (const [id, administrator] of [[ordinary, true] as const, [admin, false] as const]) {
      const told = await set(id, administrator, headers);
      expect(told.reason, JSON.stringify(headers)).toBe(reason);
      expect(told.status).toBe(reason === "INVALID_API_KEY" ? 401 : 403);
    }
  }
  expect([await isAdmin(ordinary), await isAdmin(admin)]).toEqual([false, true]);
});

test("no message that is sent without a session has a field for the privilege", () => {
  const seen = new Set<DescMessage>();
  const found: string[] = [];
  const walk = (desc: DescMessage) => {
    if (seen.has(desc)) return;
    seen.add(desc);
    for (const field of desc.fields) {
      if (/admin/i.test(field.name)) found.push(`${desc.name}.${field.name}`);
      if (field.message) walk(field.message);
    }
  };
  for (const { input } of open) walk(input);
  expect(found).toEqual([]);
  expect(open.length).toBeGreaterThan(40);
  expect(open).not.toContain(KeyService.method.setAdministrator);
});

describe("whatever else is sent", () => {
  const values = [true, 1, "true", "1"];
  const names = ["is_admin", "isAdmin", "administrator", "admin", "IS_ADMIN", "privilege", "rights", "extra"];
  /** hopes are further members that a request might have in an attempt to gain the privilege. */
  const hopes: readonly JsonObject[] = [
    ...names.flatMap((name) => values.map((value) => ({ [name]: value }))),
    ...["key", "extra", "data", "update_mask", "fields"].map((name) => ({ [name]: { is_admin: true } })),
    { "key.is_admin": true },
    { "extra[is_admin]": true },
    { extra: { is_admin: true, isAdmin: true, administrator: true } },
    { keys: [{ is_admin: true }] },
    JSON.parse('{"__proto__":{"is_admin":true}}') as JsonObject,
  ];

  let credentials: Readonly<Record<string, Readonly<Record<string, string>>>>;
  let before: ReadonlyMap<string, number>;

  beforeEach(async () => {
    credentials = {
      "an administrator key": bearer(gateway.apiKey),
      "the operator key": bearer(operatorKey),
      "an ordinary key": bearer((await newKey()).secret),
      "no key": {},
    };
    await newKey(true);
    before = await privileges();
  });

  async function privileges(): Promise<ReadonlyMap<string, number>> {
    return new Map((await gateway.storage.keys.list()).map(({ id, is_admin }) => [id, is_admin]));
  }

  /** expectUnchanged checks that the existing keys are unchanged, and that new ones have no privilege. */
  async function expectUnchanged(): Promise<void> {
    const changed = [...(await privileges())].filter(([id, admin]) => admin !== (before.get(id) ?? 0));
    expect(changed).toEqual([]);
  }

  /** requestOf builds a valid request, as far as keys matter: it names a key that it may change. */
  async function requestOf(method: DescMethod): Promise<JsonObject> {
    const { input } = method;
    const request: JsonObject = {};
    if (touchesKeys(method) && input.field.id) {
      const { key } = await newKey();
      before = new Map([...before, [key.id, 0]]);
      request.id = key.id;
    }
    if (input.field.name) request.name = "renamed";
    return request;
  }

  async function post(
    path: string,
    body: string | Uint8Array,
    type: string,
    headers: Readonly<Record<string, string>>,
  ) {
    const init = {
      method: "POST",
      headers: { "content-type": type, ...headers },
      body: new Uint8Array(Buffer.from(body)),
    };
    const response = await fetch(`${gateway.rootUrl}${path}`, init);
    await response.arrayBuffer();
    return response.status;
  }

  const pathOf = ({ parent, name }: DescMethod) => `/${parent.typeName}/${name}`;

  /** A message of a stream is framed. */
  function framed({ methodKind }: DescMethod, body: Uint8Array, encoding: "json" | "proto") {
    if (methodKind === "unary") return { body, type: `application/${encoding}` };
    const head = Buffer.alloc(5);
    head.writeUInt32BE(body.length, 1);
    return { body: Buffer.concat([head, body]), type: `application/connect+${encoding}` };
  }

  const touchesKeys = ({ parent }: DescMethod) => parent === KeyService;

  test.each(["an administrator key", "the operator key", "an ordinary key", "no key"])(
    "by %s, to any RPC, in JSON, changes no privilege",
    async (who) => {
      const headers = credentials[who] as Readonly<Record<string, string>>;
      const statuses = new Map<number, number>();
      for (const method of open) {
        // Of RPCs that have nothing to do with keys a few suffice.
        for (const hope of touchesKeys(method) ? [{}, ...hopes] : hopes.filter((_, i) => i % 8 === 0)) {
          const json = Buffer.from(JSON.stringify({ ...(await requestOf(method)), ...hope }));
          const { body, type } = framed(method, json, "json");
          const status = await post(pathOf(method), body, type, headers);
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
          expect(status, `${method.name} ${JSON.stringify(hope)}`).toBeLessThan(500);
        }
      }
      await expectUnchanged();
      expect(statuses.get(429), "none was refused before it was read").toBeUndefined();
      if (who === "an administrator key") expect(statuses.get(200)).toBeGreaterThan(5);
    },
    60_000,
  );

  test.each(["an administrator key", "the operator key"])(
    "by %s, to any RPC, in fields that its message does not have, changes no privilege",
    async (who) => {
      const headers = credentials[who] as Readonly<Record<string, string>>;
      let answered = 0;
      for (const method of open) {
        const numbers = new Set(method.input.fields.map(({ number }) => number));
        const unknown = Array.from({ length: 30 }, (_, i) => i + 1).filter((number) => !numbers.has(number));
        // Each as a number that is true: the tag, and one.
        const tags = unknown.flatMap((number) =>
          number < 16 ? [number << 3, 1] : [((number << 3) & 0x7f) | 0x80, 1, 1],
        );
        const known = toBinary(
          method.input,
          create(method.input, (await requestOf(method)) as MessageInitShape<DescMessage>),
        );
        const { body, type } = framed(method, Buffer.concat([known, Buffer.from(tags)]), "proto");
        if ((await post(pathOf(method), body, type, headers)) === 200) answered++;
      }
      await expectUnchanged();
      expect(answered).toBeGreaterThan(5);
    },
    60_000,
  );

  test.each(["an administrator key", "an ordinary key", "no key"])(
    "by %s, to any path of key management, in JSON or a form, changes no privilege",
    async (who) => {
      const headers = credentials[who] as Readonly<Record<string, string>>;
      const paths = KeyService.methods.flatMap((method): [string, DescMethod][] => {
        const { pattern } = getOption(method, http);
        return pattern.case === "post" ? [[pattern.value, method]] : [];
      });
      expect(paths).toHaveLength(5);
      let made = 0;
      for (const [path, method] of paths) {
        for (const hope of [{}, ...hopes]) {
          const request = { ...(await requestOf(method)), ...hope };
          const form = new URLSearchParams(Object.entries(request).map(([key, value]) => [key, String(value)]));
          const type = "application/x-www-form-urlencoded";
          const statuses = [
            await post(path, JSON.stringify(request), "application/json", headers),
            await post(path, form.toString(), type, headers),
          ];
          if (statuses.includes(200)) made++;
        }
      }
      await expectUnchanged();
      if (who === "an administrator key") expect(made).toBeGreaterThan(4);
    },
    60_000,
  );
});
