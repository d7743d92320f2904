/**
 * All tools that a request describes: in `tools`, in later items (`additional_tools`), and in results of tool
 * searches (`tool_search_output`). Tools of a namespace come one by one.
 */
import {
  type CreateResponseRequest,
  type ResponseItem,
  type ResponseTool,
  ResponseToolSchema,
} from "../../../../gen/modelgateway/v1/responses_pb.ts";
import { invalidType, invalidValue, missingField } from "../../../call/refusals.ts";
import { type CooperativeTask, endsSlice } from "../../../runtime/cooperative.ts";
import type { JsonObject, JsonValue } from "../../../wire/json.ts";
import { readPart } from "../../read-message.ts";

export interface DescribedTool {
  readonly tool: ResponseTool;
  readonly path: string;
  readonly namespace: string | undefined;
  /** The namespace's description, with its first tool. */
  readonly about?: string | undefined;
  /** mayRepeat is whether the tool may have been described before. */
  readonly mayRepeat: boolean;
}

/** describesTools reports whether an item describes tools. */
function describesTools({ extra }: ResponseItem): boolean {
  return extra?.type === "additional_tools" || extra?.type === "tool_search_output";
}

/** describedTools throws a Refusal for a malformed tool. */
export function* describedTools({ tools, input }: CreateResponseRequest): CooperativeTask<DescribedTool[]> {
  const described = tools.flatMap((tool, i) => withMembers(tool, `tools[${i}]`, false));
  const items = input.case === "inputItems" ? input.value.items : [];
  for (const [i, item] of items.entries()) {
    if (endsSlice(i)) yield;
    if (!describesTools(item)) continue;
    for (const [k, tool] of listIn(item.extra, `input[${i}]`).entries()) {
      const path = `input[${i}].tools[${k}]`;
      described.push(...withMembers(readPart(ResponseToolSchema, tool, path), path, true));
    }
  }
  yield;
  return described;
}

function withMembers(tool: ResponseTool, path: string, mayRepeat: boolean): DescribedTool[] {
  if (!isNamespace(tool)) return [{ tool, path, namespace: undefined, mayRepeat }];
  const { name, description, extra } = tool;
  if (!name) throw missingField(`${path}.name`);
  return listIn(extra, path).map((json, i) => {
    const at = `${path}.tools[${i}]`;
    const member = readPart(ResponseToolSchema, json, at);
    if (isNamespace(member)) throw invalidValue(`${at}.type`, "a namespace holds functions and custom tools");
    return { tool: member, path: at, namespace: name, about: i === 0 ? description : undefined, mayRepeat };
  });
}

function isNamespace({ extra }: ResponseTool): boolean {
  return extra?.type === "namespace";
}

function listIn(extra: JsonObject | undefined, path: string): JsonValue[] {
  const tools = extra?.tools ?? null;
  if (tools === null) throw missingField(`${path}.tools`);
  if (!Array.isArray(tools)) throw invalidType(`${path}.tools`, "expected a list of tools");
  return tools;
}
