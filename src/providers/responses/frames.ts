/** A unary response → the events that say the same, each item in one delta. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { listOrEmpty, objectsIn } from "../../wire/json.ts";

export function eventsOfResponse(response: JsonObject): readonly JsonObject[] {
  const { output, status = "completed" } = response;
  const begun = begunResponse(response);
  const items = objectsIn(output);
  const events: JsonObject[] = [
    { type: "response.created", response: begun },
    { type: "response.in_progress", response: begun },
    ...items.flatMap(eventsOfItem),
    { type: status === "incomplete" ? "response.incomplete" : "response.completed", response },
  ];
  return events.map(({ type = null, ...rest }, sequence_number) => ({ type, sequence_number, ...rest }));
}

/** begunResponse returns a response as it begins. */
export function begunResponse(response: JsonObject): JsonObject {
  return { ...response, status: "in_progress", output: [], usage: null, incomplete_details: null };
}

/** eventsOfItem returns the events of an item, from its beginning to its end. */
export function eventsOfItem(item: JsonObject, output_index: number): JsonObject[] {
  const { id: item_id = "" } = item;
  const at = { item_id, output_index };
  return [
    { type: "response.output_item.added", output_index, item: begunItem(item) },
    ...piecesOf(item, at),
    { type: "response.output_item.done", output_index, item },
  ];
}

/** begunItem returns an item as it begins. Unknown types begin complete. */
export function begunItem(item: JsonObject): JsonObject {
  const begun = { ...item, status: "in_progress" };
  switch (item.type) {
    case "message":
      return { ...begun, content: [] };
    case "function_call":
      return { ...begun, arguments: "" };
    case "custom_tool_call":
      return { ...begun, input: "" };
    case "reasoning":
      return { ...item, summary: [], ...(item.content === undefined ? {} : { content: [] }) };
  }
  return item;
}

function piecesOf(item: JsonObject, at: JsonObject): JsonObject[] {
  switch (item.type) {
    case "message":
      return objectsIn(item.content).flatMap((part, content_index) => eventsOfPart(part, { ...at, content_index }));
    case "reasoning":
      return [
        ...objectsIn(item.summary).flatMap((part, summary_index) => eventsOfSummary(part, { ...at, summary_index })),
        ...objectsIn(item.content).flatMap((part, content_index) => eventsOfPart(part, { ...at, content_index })),
      ];
    case "function_call":
      return input("function_call_arguments", "arguments", item.arguments, at);
    case "custom_tool_call":
      return input("custom_tool_call_input", "input", item.input, at);
  }
  return [];
}

function eventsOfPart(part: JsonObject, at: JsonObject): JsonObject[] {
  const { type, text = "", refusal = "", annotations, logprobs = [] } = part;
  const cited = listOrEmpty(annotations);
  if (type === "refusal") {
    return around(part, { type, refusal: "" }, at, [
      { type: "response.refusal.delta", ...at, delta: refusal },
      { type: "response.refusal.done", ...at, refusal },
    ]);
  }
  if (type === "reasoning_text") {
    return around(part, { ...part, text: "" }, at, [
      { type: "response.reasoning_text.delta", ...at, delta: text },
      { type: "response.reasoning_text.done", ...at, text },
    ]);
  }
  if (type !== "output_text") return around(part, part, at, []);
  return around(part, { ...part, text: "", annotations: [], logprobs: [] }, at, [
    { type: "response.output_text.delta", ...at, delta: text, logprobs },
    ...cited.map((annotation, annotation_index) => {
      return { type: "response.output_text.annotation.added", ...at, annotation_index, annotation };
    }),
    { type: "response.output_text.done", ...at, text, logprobs },
  ]);
}

function around(part: JsonObject, begun: JsonObject, at: JsonObject, pieces: readonly JsonObject[]): JsonObject[] {
  return [
    { type: "response.content_part.added", ...at, part: begun },
    ...pieces,
    { type: "response.content_part.done", ...at, part },
  ];
}

function eventsOfSummary(part: JsonObject, at: JsonObject): JsonObject[] {
  const { text = "" } = part;
  return [
    { type: "response.reasoning_summary_part.added", ...at, part: { ...part, text: "" } },
    { type: "response.reasoning_summary_text.delta", ...at, delta: text },
    { type: "response.reasoning_summary_text.done", ...at, text },
    { type: "response.reasoning_summary_part.done", ...at, part },
  ];
}

function input(about: string, key: string, value: JsonValue | undefined, at: JsonObject): JsonObject[] {
  if (typeof value !== "string") return [];
  return [
    { type: `response.${about}.delta`, ...at, delta: value },
    { type: `response.${about}.done`, ...at, [key]: value },
  ];
}
