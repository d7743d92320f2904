/**
 * Fits a chat request to what its server takes: by other names where they mean the same, else by leaving out and naming what
 * would be refused.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { efforts } from "../../config/schema-profile.ts";
import type { Changes } from "../../wire/splice.ts";
import type { Wire } from "../../wire/wire.ts";
import type { Fitted, Fitting } from "../provider.ts";
import { fitEffort } from "./effort.ts";
import { fitMessages } from "./messages.ts";
import type { Facts, ModelProfile } from "./profile.ts";

/**
 * `reasons` says whether the model reasons: a server of which nobody has said which efforts it takes is asked for one by
 * a model that does.
 */
export function fittingOf(profile: ModelProfile, reasons: boolean | undefined): Fitting {
  const { stated } = profile;
  const careful =
    stated.efforts === undefined && reasons ? { ...profile.careful, efforts: [...efforts] } : profile.careful;
  const isUnknown = Object.keys(stated).length === 0;
  return {
    outputBound: careful.output_bound,
    customTools: careful.tools.includes("custom"),
    fit(operation, request, isOwn) {
      if (operation !== "chat" || (isOwn && isUnknown)) return { request, dropped: [] };
      return fitChat(request, isOwn ? stated : careful, isOwn);
    },
  };
}

function fitChat<W extends Wire>(request: W, facts: Facts, isOwn: boolean): Fitted<W> {
  const fitted = fitJson(request.outline(), facts, isOwn);
  const values = Object.values(fitted.changes);
  if (values.length === 0) return { request, dropped: fitted.dropped };
  // An outline has other texts in the place of long ones: lists and objects are made of all of it.
  const isPlain = values.every((value) => typeof value !== "object");
  if (isPlain || !request.isLong) return { request: request.with(fitted.changes) as W, dropped: fitted.dropped };
  const { changes, dropped } = fitJson(request.json(), facts, isOwn);
  return { request: request.rebuiltWith(changes) as W, dropped };
}

interface FittedJson {
  readonly changes: Changes;
  readonly dropped: readonly string[];
}

function fitJson(json: JsonObject, facts: Facts, isOwn: boolean): FittedJson {
  const effort = fitEffort(json, facts);
  const messages = fitMessages(json.messages, facts);
  const refused = refusedIn(json, facts, effort.reasons);
  const format = fitFormat(json, facts);
  const changes: Record<string, JsonValue | undefined> = {
    ...boundIn(json, facts),
    ...effort.changes,
    ...Object.fromEntries(refused.map((key) => [key, undefined])),
    ...format.changes,
    ...(isOwn ? {} : withoutEmptyTools(json)),
    ...(facts.include_usage === false && json.stream_options !== undefined ? { stream_options: undefined } : {}),
    ...(messages ? { messages: messages.messages as JsonValue } : {}),
  };
  const dropped = [
    ...(messages?.dropped ?? []),
    ...effort.dropped,
    ...refused.filter((key) => !isDefault(key, json[key])),
    ...format.dropped,
  ];
  return { changes, dropped };
}

/** The two names of the bound of the output. Where both are there, the larger counts, as it does for the price. */
const bounds = ["max_tokens", "max_completion_tokens"] as const;

function boundIn(json: JsonObject, { output_bound: name, least_output: least = 1 }: Facts) {
  const present = bounds.filter((bound) => typeof json[bound] === "number");
  if (name === undefined || present.length === 0) return {};
  const asked = Math.max(...present.map((bound) => json[bound] as number));
  const bound = Math.max(asked, least);
  if (present.length === 1 && json[name] === bound) return {};
  const [other] = bounds.filter((either) => either !== name);
  return { [other as string]: undefined, [name]: bound };
}

/** Returns the keys that the server refuses and the request has. */
function refusedIn(json: JsonObject, { refuses = [], refuses_reasoning = [] }: Facts, reasons: boolean): string[] {
  const refused = new Set(reasons ? [...refuses, ...refuses_reasoning] : refuses);
  return [...refused].filter((key) => (json[key] ?? null) !== null);
}

/** Values that say what is so anyway: nothing is lost with them. */
const defaults: ReadonlyMap<string, JsonValue> = new Map<string, JsonValue>([
  ["temperature", 1],
  ["top_p", 1],
  ["n", 1],
  ["presence_penalty", 0],
  ["frequency_penalty", 0],
  ["logprobs", false],
  ["store", false],
  ["parallel_tool_calls", true],
]);

function isDefault(key: string, value: JsonValue | undefined): boolean {
  return defaults.get(key) === value;
}

/** A server that knows no schema is asked for any JSON at least. */
function fitFormat(json: JsonObject, { response_formats: taken }: Facts) {
  const { response_format: asked } = json;
  const type = typeof asked === "object" && asked !== null && !Array.isArray(asked) ? asked.type : undefined;
  const isTaken = type === undefined || type === "text" || taken === undefined || taken.some((one) => one === type);
  if (isTaken) return { changes: {}, dropped: [] };
  const isLess = type === "json_schema" && taken.includes("json_object");
  if (isLess)
    return { changes: { response_format: { type: "json_object" } }, dropped: ["response_format.json_schema"] };
  return { changes: { response_format: undefined }, dropped: ["response_format"] };
}

/** Several servers refuse a list of no tools. */
function withoutEmptyTools({ tools }: JsonObject) {
  const isEmpty = Array.isArray(tools) && tools.length === 0;
  return isEmpty ? { tools: undefined, tool_choice: undefined, parallel_tool_calls: undefined } : {};
}
