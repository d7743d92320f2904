/**
 * Four gateways for a test file: one with the embedded models, and three that have the first as their upstream, by
 * either family's API, or asked for responses alone.
 *
 *   const gateways = nearAndFar();
 *   test("…", () => fetch(gateways.near.rootUrl));
 */
import { afterAll, beforeAll } from "vitest";
import {
  behind,
  behindAnthropic,
  behindResponses,
  startTestGateway,
  type TestGateway,
  withEmbeddings,
} from "../gateway.ts";

export interface NearAndFar {
  readonly near: TestGateway;
  /** Over OpenAI's API; with the embedding model. */
  readonly overChat: TestGateway;
  /** Over Anthropic's API. */
  readonly overMessages: TestGateway;
  readonly overResponses: TestGateway;
}

/** Streams whose callers have left are read on for so short a time that no test waits for it. */
const impatient = { disconnectDrainMs: 100 };

/** Starts them before the tests of the file, and closes them after. They are there inside of tests and hooks only. */
export function nearAndFar(): NearAndFar {
  const gateways = {} as { -readonly [name in keyof NearAndFar]: TestGateway };
  beforeAll(async () => {
    gateways.near = await startTestGateway();
    gateways.overChat = await startTestGateway({ ...withEmbeddings(behind(gateways.near)), ...impatient });
    gateways.overMessages = await startTestGateway({ ...behindAnthropic(gateways.near), ...impatient });
    gateways.overResponses = await startTestGateway({ ...behindResponses(gateways.near), ...impatient });
  });
  afterAll(async () => {
    await gateways.overResponses.close();
    await gateways.overMessages.close();
    await gateways.overChat.close();
    await gateways.near.close();
  });
  return gateways;
}
