/**
 * Stages before servers of each family, which answer "ok" in their own: for tests of what reaches them from callers of every path.
 *
 *   const { upstream, gateway } = twoFamiliesStage();  // the models `chat` and `claude`
 *   const { upstream, gateway } = allFamiliesStage();  // `chat`, `messages`, `responses`, and `all`, whose server takes items of any type
 */
import { modelAt } from "../gateway.ts";
import type { ScriptedExchange } from "../scripted-upstream.ts";
import { answerAsAnthropic, answerAsOpenAi, outputMessage, respond, responseAnswer } from "../vendors.ts";
import { type ScriptedStage, scriptedStage } from "./scripted-stage.ts";

/** Answers in the family of the path that is asked. */
function answerInKind(exchange: ScriptedExchange): void {
  if (exchange.path.endsWith("/count_tokens")) exchange.json(200, { input_tokens: 9 });
  else if (exchange.path.endsWith("/messages")) answerAsAnthropic(exchange);
  else if (exchange.path.endsWith("/responses")) respond(exchange, responseAnswer([outputMessage("ok")]));
  else answerAsOpenAi(exchange);
}

export const twoFamiliesStage = (): ScriptedStage =>
  scriptedStage(
    (base_url) => ({
      upstreams: [
        { name: "far", kind: "openai", base_url },
        { name: "claude", kind: "anthropic", base_url },
      ],
      models: [modelAt("far", "chat", "m"), modelAt("claude", "claude", "claude-sonnet-4-6")],
      embeddedModels: false,
    }),
    { script: answerInKind },
  );

export const allFamiliesStage = (): ScriptedStage =>
  scriptedStage(
    (base_url) => ({
      upstreams: [
        { name: "far", kind: "openai", base_url },
        { name: "claude", kind: "anthropic", base_url },
        { name: "own", kind: "openai", base_url, profile: { operations: { responses: "/responses" } } },
        {
          name: "all",
          kind: "openai",
          base_url,
          profile: { operations: { responses: "/responses" }, responses_items: "any" },
        },
      ],
      models: [
        modelAt("far", "chat", "m"),
        modelAt("claude", "messages", "claude-sonnet-4-6"),
        modelAt("own", "responses", "m"),
        modelAt("all", "all", "m"),
      ],
      embeddedModels: false,
    }),
    { script: answerInKind },
  );
