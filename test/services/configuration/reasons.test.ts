/**
 * Reasons of faults and of tests: each has a text in both languages, every fault that a document can have has one, and what a failed test
 * says in Chinese has no English sentence in it.
 */
import { createServer, type Server } from "node:net";
import type { JsonObject } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { faultInChinese } from "../../../dashboard/src/configuration/fault-texts.ts";
import { stepInChinese } from "../../../dashboard/src/pages/upstreams/test-reason-texts.ts";
import { FaultReason, TestReason } from "../../../gen/modelgateway/v1/reasons_pb.ts";
import { ConfigError } from "../../../src/config/config-error.ts";
import { faultTexts } from "../../../src/config/fault-texts.ts";
import { createKeyRing } from "../../../src/config/stored/key-ring.ts";
import { createStoredConfiguration } from "../../../src/config/stored/stored-configuration.ts";
import { type TestWord, testMessage } from "../../../src/services/configuration/test-reasons.ts";
import { askRpc, bearer } from "../../support/dashboard/session.ts";
import type { ScriptedExchange, ScriptedUpstream } from "../../support/scripted-upstream.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";

/** An English sentence has four words in a row; names and codes have fewer. */
const englishSentence = /(?:\b[A-Za-z]{2,}\b[ ,]+){3}[A-Za-z]{2,}/;

/** Gives every parameter that a text asks for. */
const anyParameters = new Proxy({}, { get: (_, name) => `<${String(name)}>` }) as Readonly<Record<string, string>>;

function faultText(reason: string, parameters: Readonly<Record<string, string>>): string {
  return faultInChinese({ reason: FaultReason[reason as keyof typeof FaultReason], parameters }) ?? "";
}

function stepText(reason: string, parameters: Readonly<Record<string, string>>): string {
  return stepInChinese({ reason: TestReason[reason as keyof typeof TestReason], parameters }) ?? "";
}

/** toldByCode are reasons whose Chinese text says by the code what is wrong. */
const toldByCode: ReadonlySet<string> = new Set(["YAML_BROKEN", "FILE_UNREADABLE", "VARIABLE_FILE_UNREADABLE"]);

describe("every reason", () => {
  const words = (of: object) => Object.keys(of).filter((name) => name !== "UNSPECIFIED");

  test("of a fault has a text in both languages, with the same parameters", () => {
    expect(Object.keys(faultTexts)).toEqual(words(FaultReason));
    for (const [reason, english] of Object.entries(faultTexts)) {
      const chinese = faultText(reason, anyParameters);
      expect(chinese, reason).toMatch(/\p{Script=Han}/u);
      expect(chinese, reason).not.toMatch(englishSentence);
      if (toldByCode.has(reason)) continue;
      const names = [...english.matchAll(/<([a-z_]+)(?::[a-z]+)?>/g)].map(([, name]) => name as string);
      const used = [...chinese.matchAll(/<([a-z_]+)>/g)].map(([, name]) => name as string);
      expect(new Set(used), reason).toEqual(new Set(names));
    }
  });

  test("of a test has a text in both languages", () => {
    for (const reason of words(TestReason)) {
      expect(testMessage(reason as TestWord, anyParameters), reason).toMatch(/^[A-Z<].*[.>]$/);
      const chinese = stepText(reason, anyParameters);
      expect(chinese, reason).toMatch(/\p{Script=Han}/u);
      expect(chinese.replace(/<\w+>/g, ""), reason).not.toMatch(englishSentence);
    }
  });
});

describe("a document", () => {
  const stored = createStoredConfiguration({
    rows: { find: async () => undefined, add: async () => true },
    keys: createKeyRing({ sealing: { key: "ab".repeat(32), keyFile: undefined }, dataDir: "", database: undefined }),
    environment: {},
  });
  const actor = { kind: "test", id: "" };
  const faultsOf = async (document: unknown) => {
    try {
      const changes = [{ kind: "document" as const, document: document as never }];
      await stored.change({ base: 0, changes, note: undefined, isDry: true, actor, now: 0 });
      return [];
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      return error.faults;
    }
  };

  test("has no fault without a reason, whatever is wrong with it", async () => {
    const odd = fc.oneof(
      ...[fc.constantFrom(null, true, -1, 0, 0.5, 1e12, "", "x", "-1", "1.1234567", "0", "a b", "\n", "http://u@x?y")],
      ...[
        fc.constant([]),
        fc.constant({}),
        fc.constant(["x", "x"]),
        fc.constant({ x: 1 }),
        fc.constant([{ name: "x" }]),
      ],
    );
    const members = (keys: readonly string[]) =>
      fc.record(Object.fromEntries(keys.map((key) => [key, odd])), { requiredKeys: [] });
    const upstream = members([
      ...["name", "kind", "base_url", "api_key", "api_keys", "credential", "headers", "query", "vendor", "profile"],
      ...["discover", "timeouts", "queue", "health_check", "strange"],
    ]);
    const model = members(["id", "aliases", "family", "kind", "price", "created", "targets", "context_window"]);
    const settings = members([
      ...["registration", "retries", "hedging", "cache", "tiers", "unpriced_models", "catalogue_prices", "retention"],
      ...["public_urls", "responses", "breaker", "default_models", "failed_credentials", "disconnect_drain_seconds"],
    ]);
    const listed = (entry: fc.Arbitrary<unknown>) => fc.array(entry, { maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(settings, listed(upstream), listed(model), async (rest, upstreams, models) => {
        for (const { reason, parameters = {}, message } of await faultsOf({ ...rest, upstreams, models })) {
          expect(reason, message).toBeDefined();
          expect(faultText(reason as string, parameters), message).not.toContain("undefined");
        }
      }),
      { numRuns: 300 },
    );
  });

  const upstream = (more: object) => ({
    upstreams: [{ name: "a", kind: "openai", base_url: "http://127.0.0.1:1/v1", ...more }],
  });

  test.each<[what: string, document: object, path: string, reason: string]>([
    ["a key with a line break", upstream({ api_key: "sk-a\nsk-b" }), "upstreams[a].api_key", "CREDENTIAL_NOT_ASCII"],
    ["a key with quotes", upstream({ api_key: '"sk-abc"' }), "upstreams[a].api_key", "CREDENTIAL_QUOTED"],
    ["a key with its scheme", upstream({ api_key: "Bearer sk-abc" }), "upstreams[a].api_key", "CREDENTIAL_WITH_SCHEME"],
    [
      "the second of two such keys",
      upstream({ api_keys: ["sk-abc", "bearer sk-def"] }),
      "upstreams[a].api_keys[1]",
      "CREDENTIAL_WITH_SCHEME",
    ],
    [
      "a header of JavaScript's own",
      upstream({ headers: JSON.parse('{"__proto__":"x"}') as object }),
      "upstreams[a].headers.__proto__",
      "KEY_FORBIDDEN",
    ],
    [
      "a query of the same",
      upstream({ query: JSON.parse('{"__proto__":"x"}') as object }),
      "upstreams[a].query.__proto__",
      "KEY_FORBIDDEN",
    ],
    [
      "an operation of the same",
      upstream({ profile: { operations: JSON.parse('{"chat":"/c","__proto__":"/x"}') as object } }),
      "upstreams[a].profile.operations.__proto__",
      "KEY_FORBIDDEN",
    ],
    [
      "an effort of the same",
      upstream({ profile: { efforts_instead: JSON.parse('{"__proto__":"low"}') as object } }),
      "upstreams[a].profile.efforts_instead.__proto__",
      "KEY_FORBIDDEN",
    ],
  ])("with %s is refused", async (_, document, path, reason) => {
    expect(await faultsOf(document)).toMatchObject([{ path, reason }]);
  });

  test("may have a scheme in a key that goes into the header as it is", async () => {
    expect(await faultsOf(upstream({ api_key: "Bearer sk-abc", credential: "Authorization" }))).toEqual([]);
  });
});

describe("a test that fails", () => {
  const operatorKey = "operator-key-of-the-test-for-reasons";

  const { upstream, gateway } = scriptedStage(() => ({ operatorKey }));
  const list = (exchange: ScriptedExchange) => exchange.json(200, { data: [{ id: "m" }] });
  const page = (exchange: ScriptedExchange, status = 200) => {
    exchange.head(status, { "content-type": "text/html" });
    exchange.end("<!doctype html><html><body><h1>Welcome to our page</h1></body></html>");
  };
  const calls = (script: (exchange: ScriptedExchange) => void) => (exchange: ScriptedExchange) =>
    exchange.path.endsWith("/models") ? list(exchange) : script(exchange);
  const says = (status: number, code: string) => (exchange: ScriptedExchange) =>
    exchange.json(status, { error: { message: "This is what the vendor says about it", code } });

  async function testOf(entry: JsonObject, script?: ScriptedUpstream["script"], model?: string) {
    upstream.script = script;
    const named = model === undefined ? {} : { model };
    const request = { upstream: { name: "fresh", kind: "openai", base_url: upstream.baseUrl, ...entry }, ...named };
    const { json } = await askRpc(gateway, "OperatorService.TestUpstream", request, bearer(operatorKey));
    return json.steps as JsonObject[];
  }

  const short = { timeouts: { first_byte_seconds: 0.2 } };
  test.each<[what: string, reason: string, entry: JsonObject, script?: ScriptedUpstream["script"]]>([
    ["a name that nobody has", "HOST_NOT_FOUND", { base_url: "http://nowhere.invalid/v1" }],
    ["a port where nothing listens", "CONNECTION_REFUSED", { base_url: "http://127.0.0.1:9/v1" }],
    ["a credential that is refused for the list", "CREDENTIAL_REFUSED", {}, says(401, "invalid_api_key")],
    ["a list that is not found, and a call neither", "CALL_REFUSED", {}, (one) => page(one, 404)],
    ["too many calls", "RATE_LIMITED", {}, says(429, "rate_limit_exceeded")],
    ["a server that starts", "STATUS_REFUSED", {}, says(503, "unavailable")],
    ["a list without a model", "NO_MODEL_KNOWN", {}, (one) => one.json(200, { data: [] })],
    ["a page in place of the list and of the answer", "ANSWER_UNUSABLE", {}, page],
    ["a credential that is refused for the call", "CREDENTIAL_REFUSED", {}, calls(says(401, "invalid_api_key"))],
    ["a credit that is used up", "CREDIT_USED_UP", {}, calls(says(402, "insufficient_quota"))],
    ["a model that is not there", "MODEL_NOT_FOUND", {}, calls(says(404, "model_not_found"))],
    ["too many calls of models", "RATE_LIMITED", {}, calls(says(429, "rate_limit_exceeded"))],
    ["a call that fails there", "STATUS_REFUSED", {}, calls((one) => page(one, 500))],
    ["a call that nobody answers", "NO_ANSWER", short, calls(() => {})],
    ["a call whose connection breaks", "CONNECTION_BROKEN", {}, calls((one) => one.reset())],
    ["another API", "ANSWER_UNUSABLE", { kind: "anthropic" }, calls((one) => one.json(200, { choices: [] }))],
  ])("by %s says so in both languages", async (what, reason, entry, script) => {
    const steps = await testOf(entry, script, what.endsWith("list without a model") ? undefined : "m");
    const known = steps.map((step) => String(step.reason).replace("TEST_REASON_", ""));
    expect(known.filter((one) => one !== "MODELS_LISTED" && one !== "STEP_BEFORE_FAILED")).toContain(reason);
    for (const [i, step] of steps.entries()) {
      const parameters = (step.parameters ?? {}) as Record<string, string>;
      expect(step.message).not.toContain("undefined");
      const chinese = stepText(known[i] as string, parameters);
      // The words of the vendor itself stand in quotes.
      expect(chinese.replace(/“[^”]*”/g, ""), known[i]).not.toMatch(englishSentence);
      expect(chinese).not.toContain("undefined");
    }
  });

  test("by a server that speaks no HTTP says so", async () => {
    const server: Server = createServer((socket) => socket.end("\x15\x03\x01\x00\x02\x02\x46"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    const [step] = await testOf({ base_url: `http://127.0.0.1:${port}/v1` });
    expect(step).toMatchObject({ reason: "TEST_REASON_TLS_EXPECTED", parameters: { host: `127.0.0.1:${port}` } });
    server.close();
  });
});
