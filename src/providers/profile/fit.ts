/**
 * Fits a chat request to what its server takes: keys are renamed where another name means the same, and keys that
 * would be refused are left out and named.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { callersName, serversWordsIn } from "../../call/request/servers-words.ts";
import { isEmptyList } from "../../call/tools/tool-input.ts";
import { hasTools } from "../../call/tools/tools-anywhere.ts";
import { efforts } from "../../config/schema-profile.ts";
import type { CooperativeTask } from "../../runtime/cooperative.ts";
import { isObject } from "../../wire/json.ts";
import type { Wire } from "../../wire/wire.ts";
import type { RequestFitter } from "../contract.ts";
import { inMessages } from "./call-arguments.ts";
import { fitDemand, mustNotReason } from "./calls/demanded-calls.ts";
import { fitEffort } from "./effort.ts";
import { type FittedJson, fitWith } from "./fit-json.ts";
import { fitResponse } from "./fit-response.ts";
import { marksBeside } from "./keys/cache-marks.ts";
import { plainFittersOf } from "./keys/plain-keys.ts";
import { isDefault, refusedIn, refusesKey, unknownIn } from "./keys/refused.ts";
import { fitMessages } from "./messages.ts";
import type { Capabilities, ModelProfile } from "./profile.ts";
import { besideEffort, effortIn } from "./reasoning-object.ts";
import { fitTools } from "./schemas/fit-tools.ts";
import { withToldFormat } from "./schemas/told-format.ts";

/**
 * fittingOf returns the fitter of a model. `reasons` says whether the model reasons: a server whose efforts nobody stated is asked for one
 * if it does.
 */
export function fittingOf(profile: ModelProfile, reasons: boolean | undefined): RequestFitter {
  const { stated } = profile;
  const conservative =
    stated.efforts === undefined && reasons ? { ...profile.conservative, efforts: [...efforts] } : profile.conservative;
  const isUnknown = Object.keys(stated).length === 0;
  return {
    outputBound: conservative.output_bound,
    customTools: conservative.tools.includes("custom"),
    takesListedTools: stated.message_keys !== undefined && !stated.message_keys.includes("tools"),
    takesPlainChats: isUnknown,
    cacheMarks: stated.cache_marks,
    takesFunctionsOnly: !isUnknown && !conservative.tools.includes("custom"),
    responses: conservative.responses,
    takesAnyItem: conservative.responses_items === "any",
    reasoningItems: {
      areAskedFor: conservative.reasoning_items !== "plain" && (reasons ?? mayReason(conservative)),
      // A server of which nobody said it takes back what it has encrypted itself.
      taken: stated.reasoning_items ?? "own",
    },
    plain: plainFittersOf(profile, (plainer) => fittingOf(plainer, reasons)),
    reasonsBy: (effort) => fitEffort(effort === undefined ? {} : { reasoning_effort: effort }, conservative).reasons,
    *fit(operation, request, isOwn) {
      const capabilities = isOwn ? stated : conservative;
      if (isOwn && isUnknown)
        return { request: operation === "chat" ? yield* passable(request) : request, dropped: [] };
      // A server of /responses may take OpenAI's marks: only a profile that says otherwise removes them.
      const ofResponses = { ...capabilities, cache_marks: stated.cache_marks };
      if (operation === "responses") return yield* fitWith(request, (json) => fitResponse(json, ofResponses));
      if (operation !== "chat") return { request, dropped: [] };
      return yield* fitWith(request, (json) => fitChat(json, capabilities, isOwn));
    },
  };
}

/**
 * passable returns a request of the caller's without what no server needs and most refuse, and with arguments of earlier calls that most
 * take; the same one where it has nothing else.
 */
function* passable<W extends Wire>(request: W): CooperativeTask<W> {
  const json = request.outline();
  const changes: Record<string, JsonValue | undefined> = withoutIdleSettings(json);
  if ((yield* inMessages(json.messages)) !== json.messages) {
    // An outline has fillers in place of long strings.
    const { messages } = request.json();
    const fitted = yield* inMessages(messages);
    if (fitted !== messages) changes.messages = fitted;
  }
  if (Object.keys(changes).length === 0) return request;
  return (changes.messages ? request.changedBy(changes) : request.with(changes)) as W;
}

/** mayReason reports whether the stated capabilities say that the model reasons. */
function mayReason({ efforts: taken, effort_default: byDefault }: Capabilities): boolean {
  return (taken ?? []).some((effort) => effort !== "none") || (byDefault ?? "none") !== "none";
}

/** fitChat fits a request in which the words of other servers, where this one refuses them, are chat's own. */
function* fitChat(json: JsonObject, capabilities: Capabilities, isOwn: boolean): CooperativeTask<FittedJson> {
  const isRefused = (key: string) => refusesKey(key, capabilities);
  const words = capabilities.efforts ? serversWordsIn(json, isRefused) : undefined;
  if (!words) return yield* fitUsual(json, capabilities, isOwn);
  const { changes, dropped } = yield* fitUsual({ ...json, ...words.changes } as JsonObject, capabilities, isOwn);
  const named = dropped.map((path) => callersName(path, words.names));
  return { changes: { ...words.changes, ...changes }, dropped: [...new Set([...named, ...words.dropped])] };
}

function* fitUsual(json: JsonObject, capabilities: Capabilities, isOwn: boolean): CooperativeTask<FittedJson> {
  const word = effortByObject(json, capabilities);
  const asked = word === undefined ? json : { ...json, reasoning_effort: word };
  const effort = fitEffort(asked, capabilities);
  const messages = yield* fitMessages(
    json,
    thinksNot(asked) || mustNotReason(json, capabilities)
      ? { ...capabilities, thoughts_demanded: false }
      : capabilities,
    isOwn,
  );
  const marking = { taken: capabilities.cache_marks, dropped: [] as string[] };
  const marks = yield* marksBeside(json, marking);
  const demand = fitDemand({ ...json, ...marks } as JsonObject, capabilities);
  const tools = yield* fitTools({ ...json, ...marks, ...demand.changes }.tools, capabilities);
  const unknown = unknownIn(json, capabilities).filter((key) => !Object.hasOwn(marks, key));
  const always = [...(capabilities.refuses ?? []), ...unknown];
  const refused = refusedIn(json, always, capabilities, effort.reasons);
  const format = fitFormat(json, capabilities);
  const told = yield* withFormat(messages?.messages, json, format.isTold);
  const changes: Record<string, JsonValue | undefined> = {
    ...boundIn(json, capabilities),
    ...marks,
    ...(word === undefined ? {} : { reasoning_effort: word }),
    ...effort.changes,
    ...Object.fromEntries(refused.map((key) => [key, undefined])),
    ...format.changes,
    ...demand.changes,
    ...withoutIdleSettings(json),
    ...(told ? { messages: told as JsonValue } : {}),
    ...(tools ? { tools: tools.tools } : {}),
  };
  const dropped = [
    ...(messages?.dropped ?? []),
    ...marking.dropped,
    ...(tools?.dropped ?? []),
    ...(word === undefined ? effort.dropped : []),
    ...refused.flatMap((key) => {
      if (key === "reasoning" && isObject(json.reasoning)) {
        return namedIn(json.reasoning, word !== undefined && effort.dropped.length === 0);
      }
      return isDefault(key, json[key]) ? [] : [key];
    }),
    ...format.dropped,
    ...demand.dropped,
  ];
  return { changes, dropped };
}

/** effortByObject returns the effort in `reasoning`, where the server refuses that key; undefined where the request has an effort of its own. */
function effortByObject({ reasoning, reasoning_effort: effort = null }: JsonObject, capabilities: Capabilities) {
  const { efforts: taken } = capabilities;
  return effort === null && taken && refusesKey("reasoning", capabilities) ? effortIn(reasoning) : undefined;
}

/** namedIn returns what is lost of `reasoning`. `isTaken` says that its effort is not. */
function namedIn(reasoning: JsonObject, isTaken: boolean): readonly string[] {
  const others = besideEffort(reasoning);
  if (isTaken) return others;
  return effortIn(reasoning) === undefined && others.length === 0 ? [] : ["reasoning"];
}

/** thinksNot reports whether a request switches thinking off. */
function thinksNot({ thinking, reasoning_effort: effort, enable_thinking: isEnabled }: JsonObject): boolean {
  return (isObject(thinking) && thinking.type === "disabled") || effort === "none" || isEnabled === false;
}

/** The two names of the output bound. Where both are set the larger counts, as it does for the price. */
const bounds = ["max_tokens", "max_completion_tokens"] as const;

function boundIn(json: JsonObject, { output_bound: name, least_output: least = 1 }: Capabilities) {
  const present = bounds.filter((bound) => typeof json[bound] === "number");
  if (name === undefined || present.length === 0) return {};
  const asked = Math.max(...present.map((bound) => json[bound] as number));
  const bound = Math.max(asked, least);
  if (present.length === 1 && json[name] === bound) return {};
  const [other] = bounds.filter((either) => either !== name);
  return { [other as string]: undefined, [name]: bound };
}

/** withFormat returns the messages with the schema that the server does not take; undefined where they stay as they are. */
function* withFormat(
  fitted: readonly JsonObject[] | undefined,
  { messages, response_format: format }: JsonObject,
  isTold: boolean,
): CooperativeTask<readonly JsonObject[] | undefined> {
  if (!isTold || !Array.isArray(messages)) return fitted;
  return yield* withToldFormat(fitted ?? (messages as JsonObject[]), format);
}

/** A server that takes no schema is asked for JSON at least, and the model is told the schema (`isTold`). */
function fitFormat(json: JsonObject, { response_formats: taken }: Capabilities) {
  const { response_format: asked } = json;
  const type = isObject(asked) ? asked.type : undefined;
  const isTaken = type === undefined || type === "text" || taken === undefined || taken.some((one) => one === type);
  if (isTaken) return { changes: {}, dropped: [], isTold: false };
  const isLess = type === "json_schema" && taken.includes("json_object");
  const isTold = type === "json_schema";
  if (isLess)
    return { changes: { response_format: { type: "json_object" } }, dropped: ["response_format.json_schema"], isTold };
  return { changes: { response_format: undefined }, dropped: ["response_format"], isTold };
}

/** lists are those that some clients always send, and that say nothing while they are empty. */
const lists = ["tools", "functions", "stop", "modalities"] as const;

/**
 * withoutIdleSettings returns the changes that leave out each empty list, and settings of tools that are not there. Most servers refuse
 * them. A demand for a call stays: its server refuses it.
 */
function withoutIdleSettings(json: JsonObject): Record<string, undefined> {
  const { tool_choice: choice, parallel_tool_calls: parallel } = json;
  const isSet = choice === "auto" || choice === "none" || typeof parallel === "boolean";
  const isToolless = isSet && !hasTools(json);
  return {
    ...Object.fromEntries(lists.filter((key) => isEmptyList(json[key])).map((key) => [key, undefined])),
    ...(isToolless && (choice === "auto" || choice === "none") ? { tool_choice: undefined } : {}),
    ...(isToolless && typeof parallel === "boolean" ? { parallel_tool_calls: undefined } : {}),
  };
}
