/** One call is the same call through every door. `test/doors/every-door.test.ts` has the whole table. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { doors } from "../support/clients/doors.ts";
import { startTestGateway, type TestGateway } from "../support/gateway.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

const request = { model: "embedded-chat", messages: [{ role: "user", content: "Hello, 世界! 👋" }] };

for (const stream of [false, true]) {
  const form = stream ? "streamed" : "whole";

  test(`an answer, ${form}, has the same words through all of them`, async () => {
    const outcomes = await Promise.all(doors.map((door) => door.chat(gateway, { request, stream })));
    expect(outcomes[0]?.refused).toBeUndefined();
    for (const [i, outcome] of outcomes.entries()) expect(outcome, doors[i]?.name).toEqual(outcomes[0]);
  });

  test(`a refusal, ${form}, has the same status, words and field through all of them`, async () => {
    const wrong = { ...request, temperature: 3 };
    const outcomes = await Promise.all(doors.map((door) => door.chat(gateway, { request: wrong, stream })));
    expect(outcomes[0]?.refused).toMatchObject({ status: 400, param: "temperature" });
    for (const [i, outcome] of outcomes.entries()) expect(outcome, doors[i]?.name).toEqual(outcomes[0]);
  });
}
