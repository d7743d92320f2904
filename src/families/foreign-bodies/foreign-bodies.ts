/**
 * Reads bodies of one API that clients send to the path of another, as Cursor does to custom addresses. On each path the words of
 * that API win over the others'.
 *
 * On the path of chat a body with `input` and no `messages` is a request for a response: it becomes the equivalent chat request,
 * with its members that are chat's own. Flat tools, as in responses and the Messages API, become nested ones, and so does a
 * flat choice. Calls and results among the content, and `system` and `stop_sequences`, are the Messages API's, and
 * become chat's, and settings of responses chat's (`chat-settings.ts`). A `prompt` is what the user says. On the path of
 * completions the turns of a chat are the prompt (`prompt.ts`). The paths of responses and messages have files of their own. On all
 * of them, and on that of embeddings, an `extra_body` is spread first (`extra-body.ts`). Any other body is of its path already and
 * stays as it came.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import { CreateChatCompletionRequestSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { CreateCompletionRequestSchema } from "../../../gen/modelgateway/v1/completions_pb.ts";
import { CreateEmbeddingsRequestSchema } from "../../../gen/modelgateway/v1/embeddings_pb.ts";
import {
  CountMessageTokensRequestSchema,
  CreateMessageRequestSchema,
} from "../../../gen/modelgateway/v1/messages_pb.ts";
import {
  CountResponseTokensRequestSchema,
  CreateResponseRequestSchema,
} from "../../../gen/modelgateway/v1/responses_pb.ts";
import { isPlainChat } from "../../call/request/plain-chat.ts";
import { placeInstructions } from "../../providers/profile/instructions.ts";
import { besideEffort, effortIn } from "../../providers/profile/reasoning-object.ts";
import type { CooperativeTask } from "../../runtime/cooperative.ts";
import { definedFields, isObject, type JsonObject, type JsonValue } from "../../wire/json.ts";
import type { Changes } from "../../wire/splice.ts";
import { Wire } from "../../wire/wire.ts";
import { callersPath as pathInResponse } from "../responses-to-chat/callers-path.ts";
import { responsesToChat } from "../responses-to-chat/index.ts";
import { nestedChoice, nestedTool } from "./any-tool.ts";
import { hasOtherSettings, instructionsIn, settingsInChatWords } from "./chat-settings.ts";
import { inOneBody, spreadKeys } from "./extra-body.ts";
import { hasForeignParts, inChatParts } from "./foreign-parts.ts";
import { inMessagesWords, needsMessagesWords } from "./messages-words.ts";
import { hasOtherForms, inUsualForms } from "./other-forms.ts";
import { promptOf } from "./prompt.ts";
import { inResponsesWords, needsResponsesWords } from "./responses-words.ts";

type ChatRequest = Wire<typeof CreateChatCompletionRequestSchema>;

/** ReadBody is a body as its path has it. */
export interface ReadBody {
  readonly request: Wire;
  /** The public paths of what was left out. */
  readonly dropped: readonly string[];
  /** Returns the caller's path for a path of `request`. */
  callersPath(path: string): string | undefined;
}

/** callersPath serves bodies that keep their shape: most paths are those of the caller. */
const callersPath = (path: string) => path;

/** ReadForeign reads a body of another API; it returns undefined for one that is of its path already. */
type ReadForeign = (request: Wire) => CooperativeTask<ReadBody> | undefined;

const readers: ReadonlyMap<DescMessage, ReadForeign> = new Map<DescMessage, ReadForeign>([
  [CreateChatCompletionRequestSchema, (request) => foreignToChat(request as unknown as ChatRequest)],
  [CreateCompletionRequestSchema, foreignToCompletions],
  [CreateEmbeddingsRequestSchema, () => undefined],
  ...[CreateResponseRequestSchema, CountResponseTokensRequestSchema].map(
    (desc) => [desc, foreignWhere(needsResponsesWords, inResponsesWords)] as const,
  ),
  ...[CreateMessageRequestSchema, CountMessageTokensRequestSchema].map(
    (desc) => [desc, foreignWhere(needsMessagesWords, inMessagesWords)] as const,
  ),
]);

/** isModelRequest reports requests that clients of models write, over what their users, tools and agents say. */
export function isModelRequest(desc: DescMessage): boolean {
  return readers.has(desc);
}

/**
 * readForeignBody returns undefined for a body that is of its path already. Throws a WireFault where it is no JSON object. The task
 * throws a Refusal, or the WireFault of JSON that does not fit.
 */
export function readForeignBody(request: Wire): CooperativeTask<ReadBody> | undefined {
  const read = readers.get(request.desc);
  if (!read || (request.desc === CreateChatCompletionRequestSchema && isPlainChat(request.outline()))) return undefined;
  const keys = spreadKeys(request.outline());
  return keys ? readSpread(request, read, keys) : readBody(request, read);
}

/** readSpread reads a body with these keys in its `extra_body`, where the caller is told of them. */
function* readSpread(request: Wire, read: ReadForeign, keys: ReadonlySet<string>): CooperativeTask<ReadBody> {
  const whole = changed(request, inOneBody(request.json()));
  const task = readBody(whole.request, read);
  const body = task ? yield* task : whole;
  const written = (path: string) => (keys.has(path.replace(/[.[].*/s, "")) ? `extra_body.${path}` : path);
  const callersPath = (path: string) => {
    const own = body.callersPath(path);
    return own === undefined ? undefined : written(own);
  };
  return { request: body.request, dropped: body.dropped.map(written), callersPath };
}

function readBody(request: Wire, read: ReadForeign): CooperativeTask<ReadBody> | undefined {
  return hasOtherForms(request.outline()) ? readUsual(request, read) : read(request);
}

function* readUsual(request: Wire, read: ReadForeign): CooperativeTask<ReadBody> {
  const usual = yield* withChanges(request, inUsualForms);
  const task = read(usual.request);
  return task ? yield* task : usual;
}

function foreignWhere(
  isForeign: (json: JsonObject) => boolean,
  changesTo: (json: JsonObject) => CooperativeTask<Changes>,
): ReadForeign {
  return (request) => (isForeign(request.outline()) ? withChanges(request, changesTo) : undefined);
}

function* withChanges(
  request: Wire,
  changesTo: (json: JsonObject) => CooperativeTask<Changes>,
): CooperativeTask<ReadBody> {
  return changed(request, yield* changesTo(request.json()));
}

function changed(request: Wire, changes: Changes): ReadBody {
  return { request: request.changedBy(changes), dropped: [], callersPath };
}

function foreignToCompletions(request: Wire): CooperativeTask<ReadBody> | undefined {
  const { prompt, messages } = request.outline();
  const isChat = (prompt ?? null) === null && Array.isArray(messages) && messages.length > 0;
  return isChat ? withChanges(request, promptOf) : undefined;
}

function foreignToChat(request: ChatRequest): CooperativeTask<ReadBody> | undefined {
  const json = request.outline();
  const { messages, input, prompt, tools, tool_choice: choice, system, stop_sequences: stops } = json;
  if ((messages ?? input ?? null) === null && typeof prompt === "string")
    return withChanges(request as unknown as Wire, saidIn);
  if ((messages ?? null) === null && (input ?? null) !== null) return chatOfResponse(request);
  const isFlat = Array.isArray(tools) && tools.some((tool) => nestedTool(tool) !== tool);
  const isFlatChoice = choice !== undefined && nestedChoice(choice) !== choice;
  const isOfMessages = (system ?? stops ?? null) !== null || hasForeignParts(messages);
  const isSet = isObject(json.reasoning_effort) || hasOtherSettings(json);
  const isForeign = isFlat || isFlatChoice || isOfMessages || isSet;
  return isForeign ? inChatWords(request, isFlat, isOfMessages) : undefined;
}

// biome-ignore lint/correctness/useYield: it takes the place of a cooperative task.
function* saidIn({ prompt }: JsonObject): CooperativeTask<Changes> {
  return { prompt: undefined, messages: [{ role: "user", content: prompt as JsonValue }] };
}

function* inChatWords(request: ChatRequest, isFlat: boolean, isOfMessages: boolean): CooperativeTask<ReadBody> {
  const json = request.json();
  const { tools, tool_choice: choice, reasoning_effort: effort } = json;
  const changes = settingsInChatWords(json);
  if (isFlat) changes.tools = (tools as JsonValue[]).map(nestedTool);
  if (choice !== undefined) changes.tool_choice = nestedChoice(choice);
  if (isObject(choice) && choice.disable_parallel_tool_use === true) changes.parallel_tool_calls = false;
  if (isOfMessages) Object.assign(changes, yield* messagesInChatWords(json));
  const instructions = instructionsIn(json);
  if (typeof json.instructions === "string") changes.instructions = undefined;
  if (instructions.length > 0)
    changes.messages = [...instructions, ...((changes.messages ?? json.messages ?? []) as JsonValue[])];
  const reasoning = isObject(effort) ? inEffort(effort, json.reasoning) : { changes: {}, dropped: [] };
  Object.assign(changes, reasoning.changes);
  const chat = isOfMessages ? request.changedBy(changes) : request.with(changes);
  return { request: chat as unknown as Wire, dropped: reasoning.dropped, callersPath };
}

/**
 * inEffort reads an object in `reasoning_effort`: agents write the whole of `reasoning` where LiteLLM reads it. A budget or a switch goes
 * into `reasoning`, unless the caller has one, so that it stays what it is for models that know it.
 */
function inEffort(effort: JsonObject, reasoning: JsonValue = null) {
  const asked = effortIn(effort);
  if (reasoning === null && asked !== undefined && (effort.effort ?? null) === null)
    return { changes: { reasoning: effort, reasoning_effort: undefined }, dropped: [] };
  const dropped = besideEffort(effort).map((path) => path.replace("reasoning", "reasoning_effort"));
  return { changes: { reasoning_effort: asked }, dropped };
}

/** messagesInChatWords returns the changes to a request that is partly the Messages API's. */
function* messagesInChatWords(json: JsonObject): CooperativeTask<Record<string, JsonValue | undefined>> {
  const { messages, system, stop, stop_sequences: stops } = json;
  const turns = Array.isArray(messages) ? yield* inChatParts(messages) : [];
  const changes: Record<string, JsonValue | undefined> = { messages: turns };
  if ((system ?? null) !== null) {
    changes.messages = [{ role: "system", content: system as JsonValue }, ...turns];
    changes.system = undefined;
  }
  if (Array.isArray(stops)) {
    if ((stop ?? null) === null && stops.length > 0) changes.stop = stops;
    changes.stop_sequences = undefined;
  }
  return changes;
}

/**
 * The server is not chosen yet, so instructions are placed as every server takes them. Custom tools stay as they
 * came.
 */
const customTools = true;
const conservative = { developer: "system", system: "first" } as const;
const ofResponses = new Set(CreateResponseRequestSchema.members.map(({ name }) => name));
const ofChat = new Set(CreateChatCompletionRequestSchema.members.map(({ name }) => name));

function* chatOfResponse(request: ChatRequest): CooperativeTask<ReadBody> {
  const { messages: _, stream_options: options, ...asked } = request.json();
  const own = Object.entries(asked).filter(([key]) => ofChat.has(key) && !ofResponses.has(key));
  const ofResponse = Object.entries(asked).filter(([key]) => ofResponses.has(key) || !ofChat.has(key));
  const response = Wire.ofJson(CreateResponseRequestSchema, Object.fromEntries(ofResponse));
  const context = { form: "whole", maxOutputTokens: undefined, customTools, answerId: "", now: 0 } as const;
  const translated = yield* responsesToChat.translate(response, { ...context, estimateTokens: () => 0 });
  const kept = definedFields({ stream: asked.stream, stream_options: options, models: asked.models });
  const chatRequest = translated.request.json();
  const messages = [...placeInstructions(chatRequest.messages as JsonObject[], conservative)];
  const chat = { ...chatRequest, messages, ...Object.fromEntries(own), ...kept };
  const chatBody = Wire.ofJson(CreateChatCompletionRequestSchema, chat);
  const isOwn = (path: string) => own.some(([key]) => path.replace(/[.[].*/s, "") === key);
  return {
    request: chatBody as unknown as Wire,
    dropped: translated.dropped,
    callersPath: (path) => (isOwn(path) ? path : pathInResponse(path, asked, chat)),
  };
}
