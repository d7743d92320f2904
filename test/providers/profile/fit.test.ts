/** Requests are fitted to servers of which a profile says more than any in the catalogue. */
import { expect, test } from "vitest";
import { CreateChatCompletionRequestSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { fittingOf } from "../../../src/providers/profile/fit.ts";
import { createProfile } from "../../../src/providers/profile/profile.ts";
import { Wire } from "../../../src/wire/wire.ts";

test.each([
  ["that is on, each has thoughts", { reasoning: { enabled: true } }, " "],
  ["that is off by `reasoning_effort`, none needs thoughts", { reasoning_effort: "none" }, undefined],
  ["that is off by `reasoning`, none needs thoughts", { reasoning: { enabled: false } }, undefined],
])("of the turns of a model's thinking %s", (_, asked, thoughts) => {
  const profile = createProfile({
    ...{ thoughts: "reasoning_content", thoughts_demanded: true, refuses: ["reasoning"] },
    efforts: ["none", "medium"],
  });
  const turns = [
    { role: "user", content: "hi" },
    { role: "assistant", content: "hello" },
    { role: "user", content: "go on" },
  ];
  const request = Wire.ofJson(CreateChatCompletionRequestSchema, { model: "m", messages: turns, ...asked });
  const { messages } = fittingOf(profile.of("m"), undefined).fit("chat", request, true).request.json();
  expect(messages).toEqual(turns.with(1, { ...turns[1], ...(thoughts && { reasoning_content: thoughts }) } as never));
});
