/**
 * A conversation as the playground holds it, and as a model is asked to go on with it. It lives as long as the page is
 * open; nothing of it is stored.
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
  /** JSON as the model wrote it, which may be none. */
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
  /** In units, as the gateway says it. */
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

/** Returns the calls that wait for a result; none while the answer is still coming. */
export function openCalls(turns: readonly Turn[]): readonly Call[] {
  const last = turns.at(-1);
  return last?.by === "model" && last.state === "done" ? last.calls : [];
}

type Request = MessageInitShape<typeof CreateChatCompletionRequestSchema>;

/** Returns what the model is asked: to go on after these turns. */
export function requestOf(model: string, turns: readonly Turn[], settings: ChatSettings): Request {
  const { system, temperature, maxTokens, tools } = settings;
  const told = turns.map(messageOf).filter((message) => message !== undefined);
  return {
    model,
    messages: [...(system.trim() ? [said(Role.SYSTEM, system)] : []), ...told],
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

/** Returns the answer with the next piece of it. */
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

/** The first piece of a call has its id and name, the others go on with its arguments. */
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

/** Returns the answer as it stands when it was broken off: what a tool was to be called with is not complete then. */
export function brokenOff(answer: Answer, state: "stopped" | "failed", error?: unknown): Answer {
  return { ...answer, calls: [], state, error };
}
