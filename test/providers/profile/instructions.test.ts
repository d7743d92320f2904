/** Instructions in a chat stand where the server takes them, whichever family they came from. */
import { describe, expect, test } from "vitest";
import { CreateMessageRequestSchema } from "../../../gen/modelgateway/v1/messages_pb.ts";
import { CreateResponseRequestSchema } from "../../../gen/modelgateway/v1/responses_pb.ts";
import { messagesToChat } from "../../../src/families/messages-to-chat/index.ts";
import { responsesToChat } from "../../../src/families/responses-to-chat/index.ts";
import { fittingOf } from "../../../src/providers/profile/fit.ts";
import { placeInstructions } from "../../../src/providers/profile/instructions.ts";
import { createProfile } from "../../../src/providers/profile/profile.ts";
import { runNow } from "../../../src/runtime/cooperative.ts";
import type { JsonObject } from "../../../src/wire/json.ts";
import { Wire } from "../../../src/wire/wire.ts";
import { context } from "../../support/translations/context.ts";

const careful = { developer: "system", system: "first" } as const;
const unknown = fittingOf(createProfile({}).of("m"), undefined);
const system = (content: string) => ({ role: "system", content });
const user = (content: string) => ({ role: "user", content });
const calls = {
  role: "assistant",
  content: null,
  tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }],
};
const result = { role: "tool", tool_call_id: "c", content: "4" };

describe("a server that takes instructions first", () => {
  test.for([
    ["none", [user("a")], [user("a")]],
    ["first already", [system("s"), user("a")], [system("s"), user("a")]],
    [
      "two at the beginning",
      [system("s"), { role: "developer", content: "d" }, user("a")],
      [system("s\n\nd"), user("a")],
    ],
    ["after the user", [user("a"), system("s")], [system("s"), user("a")]],
    ["between two of the user's", [user("a"), system("s"), user("b")], [system("s"), user("a\n\nb")]],
    [
      "two of the user's as they came",
      [system("s"), user("a"), user("b"), calls, result, system("t")],
      [system("s\n\nt"), user("a"), user("b"), calls, result],
    ],
    ["between a call and its result", [user("a"), calls, system("s"), result], [system("s"), user("a"), calls, result]],
    ["an empty one", [system("s"), user("a"), system("")], [system("s"), user("a")]],
    [
      "in parts",
      [{ role: "system", content: [{ type: "text", text: "p" }] }, user("a"), system("s")],
      [
        {
          role: "system",
          content: [
            { type: "text", text: "p" },
            { type: "text", text: "s" },
          ],
        },
        user("a"),
      ],
    ],
  ] as const)("has all of them there: %s", ([, messages, expected]) => {
    expect(placeInstructions(messages as unknown as JsonObject[], careful)).toEqual(expected);
  });
});

test("a server without the developer role gets system messages", () => {
  const messages = [{ role: "developer", content: "d" }, user("a"), { role: "developer", content: "e" }];
  const takes = { developer: "system", system: "anywhere" } as const;
  expect(placeInstructions(messages, takes)).toEqual([system("d"), user("a"), system("e")]);
});

describe("an instruction in the middle", () => {
  const roles = (request: Wire) => (request.json().messages as JsonObject[]).map(({ role }) => role);

  test("of a Messages caller reaches a chat server, and keeps its place where the server takes it there", () => {
    const messages = [user("a"), system("tools: x"), { role: "assistant", content: "b" }, user("c"), system("left: 9")];
    const asked = Wire.ofJson(CreateMessageRequestSchema, { model: "m", max_tokens: 9, system: "s", messages });
    const { request } = runNow(unknown.fit("chat", runNow(messagesToChat.translate(asked, context)).request, false));
    expect(roles(request)).toEqual(["system", "user", "assistant", "user"]);
    expect((request.json().messages as JsonObject[])[0]?.content).toBe("s\n\ntools: x\n\nleft: 9");
    expect(roles(runNow(messagesToChat.translate(asked, context)).request)).toEqual([
      "system",
      "user",
      "system",
      "assistant",
      "user",
      "system",
    ]);
  });

  test("of a caller of responses reaches a chat server", () => {
    const input = [{ role: "developer", content: "a" }, user("b"), { role: "developer", content: "c" }];
    const asked = Wire.ofJson(CreateResponseRequestSchema, { model: "m", instructions: "i", input });
    const { request } = runNow(responsesToChat.translate(asked, context));
    expect(roles(runNow(unknown.fit("chat", request, false)).request)).toEqual(["system", "user"]);
    expect(roles(request)).toEqual(["system", "developer", "user", "developer"]);
  });
});

test.each(["none", "cache_control", undefined] as const)(
  "a mark of the cache in instructions of a response, which become a text, is named: %s",
  (cache_marks) => {
    const marked = { type: "input_text", text: "s", cache_control: { type: "ephemeral" } };
    const input = [user("a"), { role: "developer", content: [marked] }];
    const asked = Wire.ofJson(CreateResponseRequestSchema, { model: "m", input });
    const first = fittingOf(createProfile({ system: "first", ...(cache_marks && { cache_marks }) }).of("m"), undefined);
    const { request, dropped } = runNow(first.fit("responses", asked, true));
    expect(request.json()).toEqual({ model: "m", instructions: "s", input: [user("a")] });
    expect(dropped).toEqual(["input[1].content[0].cache_control"]);
  },
);
