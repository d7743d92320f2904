/** A gateway before a server of OpenAI's responses, for tests that write each event of its streams. */
import { modelAt } from "../gateway.ts";
import { eventStream } from "../scripted-upstream.ts";
import { anthropicFrames } from "../vendors.ts";
import { type ScriptedStage, scriptedStage } from "./scripted-stage.ts";

export interface ResponsesStage extends ScriptedStage {
  /** streams has the server answer each request with these events. */
  streams(events: readonly Readonly<Record<string, unknown>>[]): void;
}

/** responsesStage registers a stage with the model `m` for the tests of a file. */
export function responsesStage(): ResponsesStage {
  const operations = { responses: "/responses", chat: "/chat" };
  const stage = scriptedStage((base_url) => ({
    embeddedModels: false,
    upstreams: [{ name: "far", kind: "openai", base_url, profile: { operations } }],
    models: [modelAt("far", "m")],
  }));
  return {
    ...stage,
    streams(events) {
      stage.upstream.script = (exchange) => {
        exchange.head(200, eventStream);
        exchange.end(anthropicFrames(...events));
      };
    },
  };
}
