/**
 * Reads in a chat's refusal which of its forms the server does not take: keys that OpenAI's API does not have, instructions by their role or
 * their place, lists of texts in place of one, a last turn that is the model's, a schema for the answer, a demand for a call, turns that do not
 * alternate, several calls in one, a content of null, turns that are empty or lack what the model thought, and tools while it reasons. And in
 * any refusal whether the answer is to be asked for as a stream, or whole.
 *
 * Sources: https://github.com/danny-avila/LibreChat/issues/5985, https://github.com/vellum-ai/vellum-assistant/pull/40916,
 * https://github.com/aj47/SpeakMCP/pull/1037, https://github.com/llm-exe/llm-exe/issues/662,
 * https://github.com/vectorize-io/hindsight/issues/4246
 */
import type { Form, Operation } from "../../call/operations.ts";
import type { Refusal } from "../../call/refusals.ts";
import { callsMore, isInstruction } from "../../call/request/content-parts.ts";
import { demandsCall } from "../../call/request/demanded-call.ts";
import type { RefusedForms } from "../../call/request/refused-members.ts";
import { hasTools } from "../../call/tools/tools-anywhere.ts";
import type { PlainFitters, RequestFitter } from "../../providers/contract.ts";
import { runCooperatively } from "../../runtime/cooperative.ts";
import { isObject, type JsonObject, type JsonValue } from "../../wire/json.ts";
import type { CallAttempt } from "./attempt.ts";
import { maxSaid, saidIn } from "./refused-names.ts";
import { isRelay } from "./translate.ts";

/** How servers say that they do not know a key of a chat. */
const saysUnknown =
  /unsupported|not supported|unknown|unrecogni[sz]ed|unexpected|extra|not permitted|not allowed|forbidden|additional|cannot find|no such|invalid/i;

/**
 * mayTellForms reports whether a refusal is for a request's form. Servers answer with 500 where a template of theirs throws: it is the request
 * all the same (https://github.com/ggml-org/llama.cpp/issues/27367).
 */
export function mayTellForms({ status, answered }: Refusal): boolean {
  if (status === 400 || status === 422) return true;
  return status >= 500 && /\bjinja\b/i.test(answered?.toString("utf8", 0, maxSaid) ?? "");
}

/** streamed are the operations whose streams tell what a whole answer tells, so that each can be made of the other. */
const streamed: ReadonlySet<Operation> = new Set(["chat", "messages", "responses", "completions"]);

/**
 * How servers say that they, or the model, only stream. Sources: https://github.com/evalstate/fast-agent/issues/153,
 * https://github.com/infiniflow/ragflow/issues/8972, https://github.com/musistudio/claude-code-router/issues/948
 */
const saysStreamOnly = new RegExp(
  [
    String.raw`\bonly (?:\w+ )?(?:supports?|accepts?|allows?|works? (?:in|with))\b.{0,20}\bstream|\bonly (?:in )?stream(?:s|ing|ed)?\b`,
    String.raw`\bstream(?:ing)?\b\W{0,4}(?:(?:parameter|mode) )?(?:must|should|has to|needs to|is)\b.{0,12}\b(?:true|required|enabled)`,
    String.raw`\brequires?\b.{0,12}\bstream(?:ing)?\b|\bnon-?stream|\bstream\W{0,4}(?:=|is)\W{0,4}false\b|非流式|(?:仅|只)支持流式`,
  ].join("|"),
  "is",
);

/**
 * How they say that they do not stream, or not with what is asked. Sources: https://github.com/github/gh-models/issues/31,
 * https://github.com/langgenius/dify/issues/2897, https://github.com/obot-platform/obot/issues/4101
 */
const saysNot = String.raw`(?:(?:\bnot|n't) (?:\w+ ){0,2}?(?:support|available|allowed|permitted|implemented)|\b(?:unsupported|cannot|must be verified)\b|不支持)`;
/** aStream is how they speak of one, and not of its options. */
const aStream = String.raw`(?:\bstream(?:s|ed|ing)?\b|流式)`;
const saysNoStream = new RegExp(`${saysNot}.{0,80}${aStream}|${aStream}.{0,80}${saysNot}`, "is");

/** otherForm returns the form of an answer that a server may take, where it refuses the one that it was asked for; undefined elsewhere. */
export function otherForm(error: Refusal, { modelCall, candidate }: CallAttempt): Form | undefined {
  if (!streamed.has(candidate.operation)) return undefined;
  const said = saidIn(error).slice(0, maxSaid);
  if (modelCall.form === "stream") return saysNoStream.test(said) ? "whole" : undefined;
  return saysStreamOnly.test(said) ? "stream" : undefined;
}

/** KnownForms are the forms that a server has refused, and those that it turned out not to have meant in this call. */
export interface KnownForms {
  readonly refused: RefusedForms;
  readonly mistaken: RefusedForms;
}

/** refusedForms returns the forms that were refused, with what a failure says of instructions or keys; undefined where that is nothing new. */
export async function refusedForms(
  error: Refusal,
  tried: CallAttempt,
  { refused, mistaken }: KnownForms,
  plain: PlainFitters,
): Promise<RefusedForms | undefined> {
  const said = saidIn(error).slice(0, maxSaid);
  const request = tried.translated.request.outline();
  const { messages } = request;
  const turns = Array.isArray(messages) ? messages.filter(isObject) : [];
  for (const [form, isTold] of told) {
    const further = { ...refused, [form]: true };
    const isOpen = !refused[form] && !mistaken[form];
    if (isOpen && isTold(said, turns, request) && plain(further)) return further;
  }
  if (refused.place === "request") return undefined;
  const fitter = plain({ ...refused, place: "request" });
  const place = fitter && (await refusedPlace(said, tried, fitter));
  return place && place !== refused.place ? { ...refused, place } : undefined;
}

type IsTold = (said: string, turns: readonly JsonObject[], request: JsonObject) => boolean;

/** told has how each form is known: by what a refusal says, and by what the chat has of it. */
const told: readonly (readonly [form: Exclude<keyof RefusedForms, "place">, isTold: IsTold])[] = [
  ["areInstructions", saysInstructions],
  ["isSystem", (said, turns) => saysNoSystem.test(said) && turns.some(isInstruction)],
  ["areReasonedTools", (said, _, request) => saysReasonedTools.test(said) && hasTools(request)],
  ["areTurns", (said, turns) => saysAlternate.test(said) && turns.some(isUnalternate)],
  ["areCalls", (said, turns) => saysSingle.test(said) && turns.some(callsMore)],
  ["areParts", (said, turns) => saysText.test(said) && turns.some(hasTexts)],
  ["isPrefill", (said, turns) => saysEnd.test(said) && turns.at(-1)?.role === "assistant"],
  ["isSchema", (said, _, { response_format: format }) => hasSchema(format) && saysNoSchema(said)],
  ["isAnyJson", (said, _, { response_format: format }) => isAnyJson(format) && saysSchemaOnly(said)],
  ["isDemand", (said, _, request) => demandsCall(request) && saysNoDemand.test(said)],
  ["areThoughtless", (said, turns) => saysThoughtless.test(said) && turns.some(isThoughtless)],
  ["areNulls", (said, turns) => saysNull.test(said) && turns.some(({ content = null }) => content === null)],
  ["areEmptyTurns", (said, turns) => saysEmpty.test(said) && turns.some(isEmpty)],
];

/** How servers and their templates say that they do not know a role, and that instructions come first. */
const saysRole =
  /\bdeveloper\b|\broles?\b.{0,80}\b(?:un\w+|invalid|must|should|only|expected|supported)\b|\b(?:un\w+|invalid|incorrect|only)\b.{0,80}\broles?\b/is;
const saysOrder =
  /\bsystem\b.{0,80}\b(?:first|begin\w*|start|once|order|position)\b|\b(?:first|only one|multiple|more than one)\b.{0,60}\bsystem\b|\binvalid (?:chat setting|message role: system)\b|\broles\b.{0,20}\balternate\b/is;

/** How templates, as Gemma's, and servers say that they have no role for instructions. */
const saysNoSystem =
  /\b(?:system|developer) (?:role|message|instruction|prompt)s?\b.{0,30}(?:\bnot\b|n't|\bun)|\brole\b.{0,10}\bsystem\b|\bsystem\b.{0,10}\brole\b/is;

/** How OpenAI's chat, on Azure, too, and Bedrock's say that they take tools only while the model does not reason. */
const saysReasonedTools =
  /\btools?\b.{0,60}\breasoning_effort\b.{0,40}(?:\bnot\b|n't|\bun).{0,300}\breasoning_effort\b.{0,20}\bnone\b/is;

/** How they say that turns alternate, and who begins. */
const saysAlternate = /\balternat(?:e|es|ing)\b|\bfirst (?:message|turn|role)\b.{0,40}\buser\b/is;

/** isUnalternate reports a turn of the speaker before, or one of the model's that begins. */
function isUnalternate({ role }: JsonObject, i: number, turns: readonly JsonObject[]): boolean {
  const before = turns[i - 1]?.role;
  const isFirst = before === undefined || before === "system" || before === "developer";
  return (role === "user" && before === "user") || (role === "assistant" && (isFirst || before === "assistant"));
}

/** How they say that a turn has one call: Llama's templates, and Databricks. */
const saysSingle =
  /\b(?:single|one|1) tool[-_ ]?calls?\b|\b(?:multiple|parallel) (?:tool|function)[-_ ]?calls?\b.{0,20}(?:\bnot\b|n't|\bun)/is;

/** saysInstructions reports whether a refusal may be for instructions of the role `developer`, or for those behind the first message. */
function saysInstructions(said: string, turns: readonly JsonObject[]): boolean {
  const roles = turns.map(({ role }) => role);
  return (
    (roles.includes("developer") && saysRole.test(said)) || (roles.lastIndexOf("system") > 0 && saysOrder.test(said))
  );
}

/** How servers say that a content is one text: Serde, Pydantic, Go, Zod and JSON Schema, and templates that join texts. */
const saysText =
  /\b(?:sequence|array|list)\b.{0,80}\bstr(?:ing)?\b|\bstr(?:ing)?\b.{0,80}\b(?:sequence|array|list)\b|\bcontent\b.{0,120}\bstr(?:ing)?\b|\bof type '?string\b/is;

/** How servers say that they do not go on with a turn of the model's. */
const saysEnd =
  /\bprefill|\bassistant messages? at the end\b|\b(?:end|ends|ending|last)\b.{0,60}\buser\b|\blast\b.{0,60}\bassistant\b|\badd_generation_prompt\b|\bcontinue_final_message\b/is;

/** How servers say that they, or the model, take no schema for an answer, or JSON without one only. */
const saysFormat = new RegExp(
  [
    String.raw`\b(?:response[_ ]?format|json_schema)\b.{0,120}\b(?:unavailable|unsupported|not (?:\w+ )?supported|not available|not allowed)\b`,
    String.raw`\b(?:unsupported|not support\w*|n't support)\b.{0,80}\b(?:response[_ ]?format|json_schema|structured outputs?)\b`,
    String.raw`\bresponse_format\b.{0,120}\b(?:must|should|expected|one of|only)\b.{0,80}\bjson_object\b`,
  ].join("|"),
  "is",
);

/** How servers speak of what a schema has: of its parts, or of those of JSON Schema. */
const saysPart = new RegExp(
  [
    String.raw`\binvalid (?:json )?schema\b|\bschema (?:fields?|contains|for response_format)\b|\bjson_schema\.schema\b`,
    String.raw`\bkeywords?\b|\bpropert(?:y|ies)\b|\b(?:additional|pattern)Properties\b|\b(?:one|any|all)Of\b|\$(?:ref|defs)\b`,
    String.raw`\b(?:min|max)(?:Items|Length|Properties|imum)\b|\bexclusiveM(?:in|ax)imum\b|\b(?:unique|prefix)Items\b|\bmultipleOf\b`,
  ].join("|"),
  "i",
);

/** param finds the member of an error that says which part of the request is refused, and not for what. */
const param = /"param\\{0,7}"\s{0,9}:\s{0,9}\\{0,7}"[^"\\]{0,200}\\{0,7}"/g;

/** before is how far before its words a refusal may speak of a part, in characters. */
const before = 60;

/** saysNoSchema reports whether a refusal is for the schema of an answer as such, and not for what this one has. */
function saysNoSchema(said: string): boolean {
  const words = said.replace(param, "");
  const { 0: found = "", index = 0 } = saysFormat.exec(words) ?? {};
  return found !== "" && !saysPart.test(words.slice(Math.max(0, index - before), index + found.length));
}

/** saysSchemaOnly reports whether a refusal is for JSON without a schema, as LM Studio's is. */
function saysSchemaOnly(said: string): boolean {
  const [allowed = ""] =
    /\bresponse_format\b.{0,120}\b(?:must|should|one of|only)\b.{0,80}\bjson_schema\b/is.exec(said) ?? [];
  return allowed !== "" && !allowed.includes("json_object");
}

function isAnyJson(format: JsonValue | undefined): boolean {
  return isObject(format) && format.type === "json_object";
}

function hasSchema(format: JsonValue | undefined): boolean {
  return isObject(format) && format.type === "json_schema";
}

/** How servers say that the model alone decides whether it calls a tool: Z.ai's, Moonshot's, DeepSeek's and others. */
const saysNoDemand = new RegExp(
  [
    String.raw`\btool[_ ]?choice\b.{0,80}\b(?:must be (?:set to )?\W?auto|does not support|only (?:supports?|accepts?|allows?)|not (?:\w+ )?supported|unsupported|incompatible)\b`,
    String.raw`\b(?:not|n't|un)[ -]?support\w*\b.{0,60}\btool[_ ]?choice\b`,
    String.raw`\bonly\b.{0,30}\bauto\b.{0,60}\btool[_ ]?choice\b`,
    String.raw`\binvalid tool_choice type\b|\btool_choice\w*\b.{0,20}\bshould be one of\b`,
  ].join("|"),
  "is",
);

/** How servers say that a turn of a model that thinks has to have what it thought: Moonshot's, DeepSeek's and who passes on what these say. */
const saysThoughtless =
  /\breasoning_content\b.{0,60}\b(?:missing|required|must be (?:passed|provided|included|present)|passed back)\b|\bmissing\b.{0,20}\breasoning_content\b/is;

function isThoughtless({ role, reasoning_content: thought = null }: JsonObject): boolean {
  return role === "assistant" && (thought === null || thought === "");
}

/** How they say that a turn may not be empty: Moonshot's, MiniMax's, Anthropic's behind others. */
const saysEmpty =
  /\b(?:content|messages?|text)\b.{0,60}\b(?:must not be|must be non-|cannot be|can't be|should not be|may not be|is|are|must have non-) ?empty\b|\bnon-empty content\b/is;

/** How they say that a content is a text, and not null or left out, as beside calls: OpenAI's words, Pydantic's, Cloudflare's and Alibaba's. */
const saysNull =
  /\bcontent\b(?! (?:block|part|item|type|filter|polic)).{0,120}\b(?:null|none|nil|missing|str(?:ing)?|required field|field required|is required|must contain)\b|\bmust contain '?content\b/is;

/** isEmpty reports a turn of the model's that neither says nor calls anything. */
function isEmpty({ role, content = null, tool_calls: calls, function_call: called = null }: JsonObject): boolean {
  const saysNothing = content === null || content === "" || (Array.isArray(content) && content.length === 0);
  return role === "assistant" && saysNothing && !(Array.isArray(calls) && calls.length > 0) && called === null;
}

/** hasTexts reports a turn whose content is a list of texts alone. */
function hasTexts({ content }: JsonObject): boolean {
  return Array.isArray(content) && content.every((part) => isObject(part) && typeof part.text === "string");
}

/** refusedPlace returns where the keys stand that a refusal names, of those that are not OpenAI's; undefined where it names none. */
async function refusedPlace(
  said: string,
  { candidate, translated }: CallAttempt,
  fitter: RequestFitter,
): Promise<RefusedForms["place"]> {
  if (!saysUnknown.test(said)) return undefined;
  const words = new Set(said.split(/[^\w-]+/));
  const { request } = translated;
  const fitting = fitter.fit("chat", request, candidate.path.every(isRelay));
  const { dropped } = await runCooperatively(fitting, request.isLong);
  const named = dropped.filter((path) => words.has(lastKey(path)));
  if (named.length === 0) return undefined;
  return named.every((path) => /^(?:messages|tools)\[/.test(path)) ? "messages" : "request";
}

/** lastKey returns `extra_content` of `messages[1].tool_calls[0].extra_content`. */
function lastKey(path: string): string {
  return path.slice(path.lastIndexOf(".") + 1).replace(/\[.*$/s, "");
}
