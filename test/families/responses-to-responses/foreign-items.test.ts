/** Conversations of responses that began elsewhere reach OpenAI with items that it takes: their ids, their parts, and reasoning that led to something. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { fitOwnIds } from "../../../src/providers/profile/item-ids.ts";
import type { Capabilities } from "../../../src/providers/profile/profile.ts";
import { runNow } from "../../../src/runtime/cooperative.ts";
import { ask } from "../../support/ask.ts";
import { cpuMsOf } from "../../support/run/cpu-time.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { servedBy } from "../../support/upstreams/strict-gateway.ts";
import { outputMessage, respond, responseAnswer } from "../../support/vendors.ts";

const { upstream, gateway } = scriptedStage(servedBy({ vendor: "openai", model: "gpt-5.6-sol" }), {
  script: (exchange) => respond(exchange, responseAnswer([outputMessage("ok")])),
});

const user = { role: "user", content: "go on" };
const call = (id: string, call_id = "c1") => ({ type: "function_call", id, call_id, name: "read", arguments: "{}" });
const output = (call_id = "c1") => ({ type: "function_call_output", call_id, output: "ok" });
const message = (id: string, text = "hi") => ({
  ...{ type: "message", id, role: "assistant", status: "completed" },
  content: [{ type: "output_text", text, annotations: [] }],
});
const search = (id: string) => ({
  type: "web_search_call",
  id,
  status: "completed",
  action: { type: "search", query: "q" },
});
const thought = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAA-rs_1" };

async function sentFor(
  input: JsonObject[],
  strict = "false",
): Promise<{ items: JsonObject[]; dropped: string | null }> {
  const headers = { "x-gateway-strict": strict };
  const { status, text, dropped } = await ask(
    gateway,
    "/v1/responses",
    { model: "m", input, store: false },
    { headers },
  );
  expect(status, text).toBe(200);
  return { items: upstream.lastAsked.input as JsonObject[], dropped };
}

const without = ({ id: _, ...item }: JsonObject) => item;

test.each([
  ["of another server", "chatcmpl-1"],
  ["that is a number", "123"],
  ["with other signs", "msg.1:2"],
  ["that is empty", ""],
  ["of more than 64 signs", `msg_${"x".repeat(61)}`],
  ["that ends with a line", "msg_x_"],
])("an id %s is left out", async (_, id) => {
  const { items, dropped } = await sentFor([user, message(id), user]);
  expect(items[1]).toEqual(without(message(id)));
  expect(dropped).toBeNull();
});

test("ids that begin with another type's are left out, and such as OpenAI gives stay", async () => {
  const own = [message("msg_1"), call("fc_1"), output(), search("ws_1"), user];
  expect((await sentFor(own)).items).toEqual(own);
  const { items } = await sentFor([call("call_1"), { ...output(), id: "fc out" }, message("rs_2")]);
  expect(items).toEqual([without(call("")), output(), without(message(""))]);
});

test("of items with one id, only the first has it", async () => {
  const { items } = await sentFor([
    message("msg_1", "a"),
    message("msg_1", "b"),
    call("fc_1"),
    output(),
    call("fc_1", "c2"),
    output("c2"),
  ]);
  expect(items.map(({ id }) => id)).toEqual(["msg_1", undefined, "fc_1", undefined, undefined, undefined]);
});

test("an item that has no other id gets one that is always the same, and once", async () => {
  const { items } = await sentFor([search("call_x"), search("call_x"), search("ws_1"), search("ws_1"), user]);
  const ids = items.slice(0, 4).map(({ id }) => `${id}`);
  expect(new Set(ids).size).toBe(4);
  for (const id of ids) expect(id).toMatch(/^ws_[a-z0-9]{1,61}$/);
  expect(((await sentFor([search("call_x"), user])).items[0] as JsonObject).id).toBe(ids[0]);
});

test("an answer to a request for approval names the id that the request has got", async () => {
  const request = { type: "mcp_approval_request", id: "approve.me", server_label: "s", name: "n", arguments: "{}" };
  const answer = { type: "mcp_approval_response", approval_request_id: "approve.me", approve: true };
  const { items } = await sentFor([user, request, answer]);
  expect(items[1]?.id).toMatch(/^mcpr_/);
  expect(items[2]?.approval_request_id).toBe(items[1]?.id);
});

test("a call that was approved has an id of its own beside that of the request", async () => {
  const request = { type: "mcp_approval_request", id: "approve.me", server_label: "s", name: "n", arguments: "{}" };
  const made = { ...request, type: "mcp_call", id: "call.me", approval_request_id: "approve.me", output: "ok" };
  const { items } = await sentFor([user, request, made, user]);
  expect(items[2]?.id).toMatch(/^mcp_[a-z0-9]+$/);
  expect(items[2]?.approval_request_id).toBe(items[1]?.id);
});

test("one id of many items is replaced in time that grows with their number alone", async () => {
  // Tried from the first number for each item, it would take 15 s.
  const input = Array.from({ length: 2_000 }, () => search("call_x"));
  const fitted: JsonValue[] = [];
  const spent = await cpuMsOf(() => fitted.push(runNow(fitOwnIds(input, { item_ids: "own" } as Capabilities)) ?? []));
  expect(new Set((fitted[0] as JsonObject[]).map(({ id }) => id)).size).toBe(input.length);
  expect(spent).toBeLessThan(1_500);
});

test("reasoning that led to nothing goes without its id, and other reasoning stays as it came", async () => {
  const used = [
    user,
    thought,
    call("fc_1"),
    output(),
    { ...thought, id: "rs_2" },
    { ...thought, id: "rs_3" },
    message("msg_1"),
  ];
  expect(await sentFor(used)).toEqual({ items: used, dropped: null });
  const vain = without(thought);
  expect(await sentFor([user, thought, user], "true")).toEqual({ items: [user, vain, user], dropped: null });
  expect(await sentFor([user, thought], "true")).toEqual({ items: [user, vain], dropped: null });
  expect(await sentFor([user, vain, user], "true")).toEqual({ items: [user, vain, user], dropped: null });
  const late = (item: JsonObject) => [user, call("fc_1"), item, output()];
  expect(await sentFor(late(thought), "true")).toEqual({ items: late(vain), dropped: null });
});

test("a text has the type of who says it", async () => {
  const { items } = await sentFor([
    { role: "user", content: [{ type: "output_text", text: "a", annotations: [] }] },
    { role: "assistant", content: [{ type: "input_text", text: "b" }] },
    call("fc_1"),
    { ...output(), output: [{ type: "output_text", text: "c" }] },
  ]);
  expect(items[0]?.content).toEqual([{ type: "input_text", text: "a" }]);
  expect(items[1]?.content).toEqual([{ type: "output_text", text: "b" }]);
  expect(items[3]?.output).toEqual([{ type: "input_text", text: "c" }]);
});
