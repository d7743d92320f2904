/**
 * The playground's conversation, and the request that continues it. It exists while the page is open and is not
 * stored.
 */
import type { JsonObject, MessageInitShape } from "@bufbuild/protobuf";
import {
  type ChatCompletionChunk,
  ContentPartType,
  type CreateChatCompletionRequestSchema,
  ReasoningEffort,
  ResponseFormatType,
  Role,
  type ToolCall,
  ToolType,
} from "../../../../gen/modelgateway/v1/chat_pb.ts";
import type { FunctionTool } from "./tools.ts";

export interface Call {
  readonly id: string;
  readonly name: string;
  /** arguments is JSON as the model wrote it; it may be invalid. */
  readonly arguments: string;
}

export interface Answer {
  readonly by: "model";
  readonly id: number;
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly Call[];
  readonly state: "coming" | "done" | "stopped" | "failed";
  readonly error?: unknown;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  /** cost is in units, as the gateway reported it. */
  readonly cost?: string;
  readonly firstTokenMs?: number;
  readonly requestId?: string;
}

/** Attachment is an image or another file that a message has. */
export interface Attachment {
  readonly name: string;
  /** type is its media type, such as `image/png`. */
  readonly type: string;
  /** url is its content as a data URL. */
  readonly url: string;
}

export interface Asked {
  readonly by: "person";
  readonly id: number;
  readonly text: string;
  readonly files: readonly Attachment[];
}

export interface ToolResult {
  readonly by: "tool";
  readonly id: number;
  readonly call: Call;
  readonly text: string;
}

export type Turn = Asked | Answer | ToolResult;

export interface ChatSettings {
  readonly system: string;
  readonly temperature: number | undefined;
  readonly maxTokens: number | undefined;
  readonly tools: readonly FunctionTool[];
  /** effort is a word of OpenAI's `reasoning_effort`; undefined: the model's own. */
  readonly effort: EffortWord | undefined;
  /** schema is the JSON schema that the answer has to have; undefined: none. */
  readonly schema: JsonObject | undefined;
}

export const efforts = {
  none: ReasoningEffort.NONE,
  minimal: ReasoningEffort.MINIMAL,
  low: ReasoningEffort.LOW,
  medium: ReasoningEffort.MEDIUM,
  high: ReasoningEffort.HIGH,
} as const;

export type EffortWord = keyof typeof efforts;

export function newAnswer(id: number): Answer {
  return { by: "model", id, text: "", reasoning: "", calls: [], state: "coming" };
}

/** openCalls returns the tool calls that wait for a result; none while the answer is still streaming. */
export function openCalls(turns: readonly Turn[]): readonly Call[] {
  const last = turns.at(-1);
  return last?.by === "model" && last.state === "done" ? last.calls : [];
}

type Request = MessageInitShape<typeof CreateChatCompletionRequestSchema>;

/** requestOf returns the request that continues the conversation. */
export function requestOf(model: string, turns: readonly Turn[], settings: ChatSettings): Request {
  const { system, temperature, maxTokens, tools, effort, schema } = settings;
  const conversation = turns.map(messageOf).filter((message) => message !== undefined);
  return {
    model,
    messages: [...(system.trim() ? [said(Role.SYSTEM, system)] : []), ...conversation],
    streamOptions: { includeUsage: true },
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxTokens === undefined ? {} : { maxTokens }),
    ...(effort === undefined ? {} : { reasoningEffort: efforts[effort] }),
    ...(schema === undefined
      ? {}
      : {
          responseFormat: {
            type: ResponseFormatType.JSON_SCHEMA,
            jsonSchema: { name: schemaName, strict: true, schema },
          },
        }),
    tools: [...tools],
  };
}

/** schemaName names the schema of the answer to the model. */
export const schemaName = "answer";

function messageOf(turn: Turn) {
  if (turn.by === "person") return turn.files.length === 0 ? said(Role.USER, turn.text) : attached(turn);
  if (turn.by === "tool") return { ...said(Role.TOOL, turn.text), toolCallId: turn.call.id };
  if (turn.text === "" && turn.calls.length === 0) return undefined;
  const toolCalls = turn.calls.map(({ id, name, arguments: args }) => ({
    id,
    type: ToolType.FUNCTION,
    function: { name, arguments: args },
  }));
  return { ...(turn.text === "" ? { role: Role.ASSISTANT } : said(Role.ASSISTANT, turn.text)), toolCalls };
}

function attached({ text, files }: Asked) {
  const parts = files.map(({ name, type, url }) =>
    type.startsWith("image/")
      ? { type: ContentPartType.IMAGE_URL, imageUrl: { url } }
      : { type: ContentPartType.FILE, file: { filename: name, fileData: url } },
  );
  const words = text === "" ? [] : [{ type: ContentPartType.TEXT, text }];
  return { role: Role.USER, content: { case: "parts" as const, value: { parts: [...parts, ...words] } } };
}

function said(role: Role, value: string) {
  return { role, content: { case: "text" as const, value } };
}

/** extended returns the answer with the chunk appended. */
export function extended(answer: Answer, { choices, usage }: ChatCompletionChunk): Answer {
  const delta = choices[0]?.delta;
  return {
    ...answer,
    text: answer.text + (delta?.content ?? "") + (delta?.refusal ?? ""),
    reasoning: answer.reasoning + (delta?.reasoningContent ?? ""),
    calls: (delta?.toolCalls ?? []).reduce(withCall, answer.calls),
    ...(usage ? { inputTokens: usage.promptTokens, outputTokens: usage.completionTokens } : {}),
  };
}

/** withCall applies a chunk: the first one of a call has its id and name, later ones extend its arguments. */
function withCall(calls: readonly Call[], piece: ToolCall): readonly Call[] {
  const at = piece.index ?? calls.length;
  const before = calls[at] ?? { id: "", name: "", arguments: "" };
  const call = {
    id: piece.id ?? before.id,
    name: before.name + (piece.function?.name ?? piece.custom?.name ?? ""),
    arguments: before.arguments + (piece.function?.arguments ?? piece.custom?.input ?? ""),
  };
  return [...calls.slice(0, at), call, ...calls.slice(at + 1)];
}

/** brokenOff returns an answer as it was interrupted, without its incomplete tool calls. */
export function brokenOff(answer: Answer, state: "stopped" | "failed", error?: unknown): Answer {
  return { ...answer, calls: [], state, error };
}
