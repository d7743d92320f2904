/** Conversations that began at another server go on at Claude: their earlier calls reach it with ids, names and results that it takes. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { CreateMessageRequestSchema } from "../../../gen/modelgateway/v1/messages_pb.ts";
import { fittedTurns } from "../../../src/providers/anthropic/conversation/fitting-calls.ts";
import { itemsPerSlice } from "../../../src/runtime/cooperative.ts";
import { Wire } from "../../../src/wire/wire.ts";
import { ask } from "../../support/ask.ts";
import { modelAt } from "../../support/gateway.ts";
import { longestTurn, watchTypes } from "../../support/run/longest-turn.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { answerAsAnthropic } from "../../support/vendors.ts";

const { upstream, gateway } = scriptedStage(
  (base_url) => ({
    upstreams: [{ name: "far", kind: "anthropic", base_url }],
    models: [
      modelAt("far", "claude", "claude-sonnet-4-6"),
      modelAt("far", "kimi", "kimi-k3"),
      modelAt("far", "claude-opus-4-8"),
    ],
    embeddedModels: false,
  }),
  { script: answerAsAnthropic },
);

const user = { role: "user", content: "go on" };
const said = { type: "text", text: "done" };
const use = (id: string, name = "read") => ({ type: "tool_use", id, name, input: {} });
const result = (tool_use_id: string, content: JsonValue = "ok") => ({ type: "tool_result", tool_use_id, content });
const turn = (...content: JsonObject[]) => ({ role: "assistant", content });
const results = (...content: JsonObject[]) => ({ role: "user", content });
const search = (id: string) => ({ type: "server_tool_use", id, name: "web_search", input: { query: "q" } });
const found = (tool_use_id: string, content: JsonValue) => ({ type: "web_search_tool_result", tool_use_id, content });
const hit = { type: "web_search_result", url: "https://a.example", title: "A", encrypted_content: "sealed" };

const blocksOf = (turn: JsonObject | undefined) => (turn?.content ?? []) as { id: string; name: string }[];

async function sentFor(messages: JsonObject[], model = "claude"): Promise<JsonObject[]> {
  const { status, text, dropped } = await ask(gateway, "/v1/messages", { model, max_tokens: 99, messages });
  expect([status, dropped], text).toEqual([200, null]);
  return upstream.lastAsked.messages as JsonObject[];
}

const taken = /^[a-zA-Z0-9_-]+$/;

test("ids that Claude refuses are rewritten, the same in a call and its result, and never two to one", async () => {
  const ids = ["functions.read:0", "a.b", "a_b", "a:b", "call a/b|c", "rufö"];
  const sent = await sentFor([user, turn(...ids.map((id) => use(id))), results(...ids.map((id) => result(id, id)))]);
  const calls = blocksOf(sent[1]).map(({ id }) => id);
  expect(calls.every((id) => taken.test(id))).toBe(true);
  expect(new Set(calls).size).toBe(ids.length);
  expect(calls[2]).toBe("a_b");
  expect(sent[2]?.content).toEqual(calls.map((id, i) => result(id, ids[i])));
});

test("a valid id stays, however long it is", async () => {
  const id = `call_${"x".repeat(300)}`;
  const messages = [user, turn(use(id)), results(result(id))];
  expect(await sentFor(messages)).toEqual(messages);
});

test("other models of the Messages API get the ids that they have given", async () => {
  const messages = [user, turn(use("functions.read:0")), results(result("functions.read:0"))];
  expect(await sentFor(messages, "kimi")).toEqual(messages);
});

test.each([
  ["with signs that Claude refuses", "read<|channel|>commentary"],
  ["that is empty", ""],
])("a name %s becomes one that it takes", async (_, name) => {
  const sent = await sentFor([user, turn(use("c1", name)), results(result("c1"))]);
  expect(blocksOf(sent[1])[0]?.name).toMatch(taken);
});

test("a tool that another server has run is told as text, without what only that server can read", async () => {
  const cited = [{ type: "web_search_result_location", url: "https://a.example", encrypted_index: "x" }];
  const history = [user, turn(search("call_1"), found("call_1", [hit]), { ...said, citations: cited }), user];
  const { content } = (await sentFor(history))[1] as { content: { text: string }[] };
  expect(content).toEqual([
    { type: "text", text: 'web_search: {"query":"q"}' },
    { type: "text", text: expect.stringContaining("https://a.example") },
    said,
  ]);
  expect(JSON.stringify(content)).not.toContain("sealed");
});

test("its result of plain type in the model's turn is told likewise", async () => {
  const sent = await sentFor([
    user,
    turn({ ...search("call_1"), name: "analyze_image" }, result("call_1", "a cat"), said),
    user,
  ]);
  expect(sent[1]?.content).toEqual([
    { type: "text", text: 'analyze_image: {"query":"q"}' },
    { type: "text", text: "The result of the tool:\n\na cat" },
    said,
  ]);
});

test("Claude's own searches stay as they came", async () => {
  const cited = [{ type: "web_search_result_location", url: "https://a.example", encrypted_index: "x" }];
  const own = [user, turn(search("srvtoolu_1"), found("srvtoolu_1", [hit]), { ...said, citations: cited }), user];
  expect(await sentFor(own)).toEqual(own);
});

test("a search that was interrupted has failed where the user goes on, and nowhere else", async () => {
  const failed = { type: "web_search_tool_result_error", error_code: "unavailable" };
  expect(await sentFor([user, turn(search("srvtoolu_1")), user])).toEqual([
    user,
    turn(search("srvtoolu_1"), found("srvtoolu_1", failed as JsonValue)),
    user,
  ]);
  const paused = [user, turn(search("srvtoolu_1"))];
  expect(await sentFor(paused)).toEqual(paused);
  const caller = { type: "code_execution_20250825", tool_id: "srvtoolu_2" };
  const code = { type: "server_tool_use", id: "srvtoolu_2", name: "code_execution", input: { code: "read()" } };
  const running = [user, turn(code, { ...use("toolu_1"), caller }), results(result("toolu_1"))];
  expect(await sentFor(running)).toEqual(running);
  const urged = [user, turn(code, { ...use("toolu_1"), caller }), results(result("toolu_1"), said)];
  expect(await sentFor(urged)).toEqual(urged);
});

const instruction = { role: "system", content: "Answer in French." };
const reminder = { type: "text", text: "<system-reminder>\nAnswer in French.\n</system-reminder>" };

test("a search that was interrupted has failed where instructions become the user's words", async () => {
  const failure = found("srvtoolu_1", { type: "web_search_tool_result_error", error_code: "unavailable" });
  expect(await sentFor([user, turn(search("srvtoolu_1")), instruction])).toEqual([
    user,
    turn(search("srvtoolu_1"), failure),
    results(reminder),
  ]);
  const taken = [user, turn(search("srvtoolu_1")), instruction];
  expect(await sentFor(taken, "claude-opus-4-8")).toEqual(taken);
});

test("instructions do not stand behind a tool that is told as text", async () => {
  const sent = await sentFor([user, turn(search("call_1")), instruction], "claude-opus-4-8");
  expect(sent).toEqual([user, turn({ type: "text", text: 'web_search: {"query":"q"}' }), results(reminder)]);
});

const { watched, reads } = watchTypes();

const many = (make: (i: number) => JsonObject) => Array.from({ length: 5_000 }, (_, i) => watched(make(i)));

test.each<[string, JsonObject[]]>([
  ["calls of other servers", [turn(...many((i) => use(`a.${i}`))), results(...many((i) => result(`a.${i}`)))]],
  ["searches of other servers", [turn(...many((i) => search(`call_${i}`))), user]],
  ["searches that were interrupted", [turn(...many((i) => search(`srvtoolu_${i}`))), user]],
  ["calls that stay", [turn(...many((i) => use(`c${i}`))), results(...many((i) => result(`c${i}`)))]],
])("%s are read a few at a time", (_, messages) => {
  const request = Wire.ofJson<typeof CreateMessageRequestSchema>(CreateMessageRequestSchema, { model: "m", messages });
  const work = fittedTurns(request);
  expect(longestTurn(work, reads).most).toBeLessThanOrEqual(16 * itemsPerSlice);
});

test("counts are asked for what would be sent", async () => {
  upstream.script = (exchange) => exchange.json(200, { input_tokens: 9 });
  const messages = [user, turn(use("a.b")), results(result("a.b"))];
  expect((await ask(gateway, "/v1/messages/count_tokens", { model: "claude", messages })).status).toBe(200);
  expect(JSON.stringify(upstream.lastAsked.messages)).not.toContain("a.b");
});
