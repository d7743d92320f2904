/**
 * The playground's conversation, and the request that continues it. It exists while the page is open and is not
 * stored.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  type ChatCompletionChunk,
  type CreateChatCompletionRequestSchema,
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

export interface Asked {
  readonly by: "person";
  readonly id: number;
  readonly text: string;
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
}

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
  const { system, temperature, maxTokens, tools } = settings;
  const conversation = turns.map(messageOf).filter((message) => message !== undefined);
  return {
    model,
    messages: [...(system.trim() ? [said(Role.SYSTEM, system)] : []), ...conversation],
    streamOptions: { includeUsage: true },
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxTokens === undefined ? {} : { maxTokens }),
    tools: [...tools],
  };
}

function messageOf(turn: Turn) {
  if (turn.by === "person") return said(Role.USER, turn.text);
  if (turn.by === "tool") return { ...said(Role.TOOL, turn.text), toolCallId: turn.call.id };
  if (turn.text === "" && turn.calls.length === 0) return undefined;
  const toolCalls = turn.calls.map(({ id, name, arguments: args }) => ({
    id,
    type: ToolType.FUNCTION,
    function: { name, arguments: args },
  }));
  return { ...(turn.text === "" ? { role: Role.ASSISTANT } : said(Role.ASSISTANT, turn.text)), toolCalls };
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
