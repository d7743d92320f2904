/** Items of coding agents, as text for a chat model. */
import type { ResponseContentPart, ResponseItem } from "../../../../gen/modelgateway/v1/responses_pb.ts";
import { isFilledText, type JsonObject, type JsonValue } from "../../../wire/json.ts";
import { interrupted } from "../../tools/paired-results.ts";
import type { ToolNames } from "../tool-names.ts";
import { contentOf, isText } from "./content.ts";

/**
 * agentMessage returns an agent's message to another. What the sender wrote into an argument that its vendor would have encrypted comes as
 * `encrypted_content`: from a chat model it is plain text, and mostly the whole task.
 */
export function agentMessage({ content, extra }: ResponseItem, path: string): JsonValue {
  if (content.case === "contentText") return signedBy(extra, content.value);
  const parts = content.value?.parts ?? [];
  const isPlain = parts.every((part) => isText(part) || isHidden(part));
  const text = parts.map((part) => (isHidden(part) ? hiddenText(part) : (part.text ?? ""))).join("");
  return isPlain ? signedBy(extra, text) : contentOf(parts, `${path}.content`);
}

function isHidden({ extra }: ResponseContentPart): boolean {
  return extra?.type === "encrypted_content";
}

function hiddenText({ extra }: ResponseContentPart): string {
  return typeof extra?.encrypted_content === "string" ? extra.encrypted_content : "";
}

function signedBy(extra: JsonObject | undefined, text: string): string {
  const author = extra?.author;
  return isFilledText(author) && !text.includes(author) ? `From ${author}:\n\n${text}` : text;
}

/** searchResult returns what is said of the tools that a search has found. They are offered from now on. */
export function searchResult({ status, extra }: ResponseItem, names: ToolNames): string {
  const found = toolsFound(extra?.tools ?? []).map(([namespace, name]) => names.chatNameOf(namespace, name));
  if (found.length > 0) return `These tools can be called now: ${found.join(", ")}`;
  return status === "incomplete" ? interrupted : "No tools were found.";
}

function toolsFound(tools: JsonValue, namespace?: string): [namespace: string | undefined, name: string][] {
  if (!Array.isArray(tools)) return [];
  return tools.flatMap((tool) => {
    const { type, name, tools: members } = (tool ?? {}) as JsonObject;
    if (typeof name !== "string") return [];
    const isNamespace = type === "namespace" && namespace === undefined;
    return isNamespace ? toolsFound(members ?? [], name) : [[namespace, name] as [string | undefined, string]];
  });
}
