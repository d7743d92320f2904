/**
 * Settings of a chat request in the words of servers of open models, for upstreams that do not know them: whether and how long the model
 * thinks, as Qwen's service (`enable_thinking`, `thinking_budget`), vLLM and SGLang (`chat_template_kwargs`), Ollama (`think`), and DeepSeek,
 * Kimi and Z.ai (`thinking`) have it, and the form of the answer, as Ollama (`format`), vLLM (`guided_json`, `structured_outputs`) and
 * llama.cpp (`json_schema`) do. They become `reasoning` and `response_format`. A setting of chat's own wins.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isFilledText, isObject } from "../../wire/json.ts";
import type { Changes } from "../../wire/splice.ts";

export interface ServersWords {
  readonly changes: Changes;
  /** names are the caller's keys, by those that they became. */
  readonly names: ReadonlyMap<string, string>;
  /** The paths of what stands beside the settings, and has no meaning elsewhere. */
  readonly dropped: readonly string[];
}

const thinkingKeys = ["enable_thinking", "thinking_budget", "chat_template_kwargs", "think", "thinking"] as const;
const formatKeys = ["format", "guided_json", "structured_outputs", "json_schema"] as const;

/** serversWordsIn reads those keys for which `isRead` holds; undefined where none says anything. It may be given an outline. */
export function serversWordsIn(
  json: JsonObject,
  // Other families have a `thinking` of their own.
  isRead: (key: string) => boolean = (key) => key !== "thinking",
): ServersWords | undefined {
  const told = (key: string) => (isRead(key) ? (json[key] ?? null) : null);
  const names = new Map<string, string>();
  const changes: Record<string, JsonValue | undefined> = {};
  const own = isRead("thinking") ? null : json.thinking;
  const isSaid = [json.reasoning_effort, json.reasoning, own].some((value) => (value ?? null) !== null);
  const reasoning = isSaid ? undefined : reasoningIn(told);
  if (reasoning) {
    const said = thinkingKeys.filter((key) => told(key) !== null);
    for (const key of said) changes[key] = undefined;
    changes.reasoning = reasoning;
    for (const name of ["reasoning", "reasoning_effort"]) names.set(name, said[0] as string);
  }
  const { key, format } = (json.response_format ?? null) === null ? formatIn(told) : {};
  if (key !== undefined && format) {
    changes[key] = undefined;
    changes.response_format = format;
    names.set("response_format", key);
  }
  if (names.size === 0) return undefined;
  return { changes, names, dropped: reasoning ? besideSwitch(told("chat_template_kwargs")) : [] };
}

/** callersName returns the path by the caller's own key. */
export function callersName(path: string, names: ServersWords["names"]): string {
  return names.get(path.replace(/[.[].*/s, "")) ?? path;
}

type Told = (key: string) => JsonValue;

const switches = ["enable_thinking", "thinking"] as const;

/** reasoningIn returns what `reasoning` has for it: an effort, a budget or a switch. */
function reasoningIn(told: Told): JsonObject | undefined {
  const kwargs = told("chat_template_kwargs");
  const settings = isObject(kwargs) ? kwargs : {};
  const think = told("think");
  const mode = told("thinking");
  const { type, budget_tokens: tokens, effort: degree } = isObject(mode) ? mode : {};
  const effort = [think, settings.reasoning_effort, degree].find(isFilledText);
  const isOnBy = type === "disabled" ? false : type === "enabled" || type === "adaptive" ? true : undefined;
  const isOn = [told("enable_thinking"), ...switches.map((key) => settings[key]), think, isOnBy].find(isSwitch);
  if (isOn === false) return { enabled: false };
  if (effort !== undefined) return { effort };
  const budget = [told("thinking_budget"), settings.thinking_budget, tokens].find((count) => typeof count === "number");
  if (budget === 0) return { enabled: false };
  if (typeof budget === "number" && budget > 0) return { max_tokens: budget };
  return isOn === true ? { enabled: true } : undefined;
}

function isSwitch(value: JsonValue | undefined): value is boolean {
  return typeof value === "boolean";
}

function besideSwitch(kwargs: JsonValue): string[] {
  if (!isObject(kwargs)) return [];
  const known: readonly string[] = [...switches, "thinking_budget", "reasoning_effort"];
  return Object.keys(kwargs).flatMap((key) => (known.includes(key) ? [] : [`chat_template_kwargs.${key}`]));
}

function formatIn(told: Told): { readonly key?: string; readonly format?: JsonObject } {
  for (const key of formatKeys) {
    const value = told(key);
    const schema = key === "structured_outputs" && isObject(value) ? (value.json ?? null) : value;
    if (key === "format" && schema === "json") return { key, format: { type: "json_object" } };
    if (isObject(schema) && Object.keys(schema).length > 0)
      return { key, format: { type: "json_schema", json_schema: { name: "answer", schema } } };
  }
  return {};
}
