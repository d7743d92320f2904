/** A gateway before a server of Anthropic's API, for tests that write each event of its streams. */
import { call } from "../clients/families.ts";
import { eventStream } from "../scripted-upstream.ts";
import { anthropicFrames } from "../vendors.ts";
import { paidModel } from "./paid-models.ts";
import { type ScriptedStage, scriptedStage } from "./scripted-stage.ts";

export type Json = Record<string, unknown>;
// biome-ignore lint/suspicious/noExplicitAny: what the gateway says is looked into as it came.
export type Any = any;

export interface EventsStage extends ScriptedStage {
  /** ask has the server stream these events, and returns what a caller of messages gets: the data of each event, or the one whole answer. */
  ask(stream: boolean, ...events: readonly Json[]): Promise<Any[]>;
}

/** eventsStage registers a stage with the model `m` for the tests of a file. */
export function eventsStage(): EventsStage {
  const stage = scriptedStage((base_url) => ({
    embeddedModels: false,
    upstreams: [{ name: "far", kind: "anthropic", base_url, api_key: "k" }],
    models: [paidModel("m", "far")],
  }));
  const { upstream, gateway } = stage;
  return {
    ...stage,
    async ask(stream, ...events) {
      upstream.script = (exchange) => {
        exchange.head(200, eventStream);
        exchange.end(anthropicFrames(...events));
      };
      const { text } = await call(gateway, { family: "messages", model: "m", stream, apiKey: gateway.apiKey });
      if (!stream) return [JSON.parse(text)];
      return [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json]) => JSON.parse(json as string));
    },
  };
}
