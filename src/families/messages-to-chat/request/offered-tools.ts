/**
 * The tools offered at the end of a conversation, of all that it describes.
 *
 * A deferred tool (`defer_loading`) is offered once a search has named it (`tool_reference`) or a system message has
 * added it. System messages may define and remove tools. Chat has one list, the final one. Tools still deferred are
 * dropped and named; but where no tool searches, and nothing was ever added, or where only the vendor would search, all
 * are offered but those that were removed.
 */
import {
  type ContentBlock,
  type CreateMessageRequest,
  type MessageTool,
  MessageToolSchema,
} from "../../../../gen/modelgateway/v1/messages_pb.ts";
import { invalidType } from "../../../call/refusals.ts";
import { isVendorsSearch } from "../../../call/tools/client-tools.ts";
import { type CooperativeTask, endsSlice } from "../../../runtime/cooperative.ts";
import { isObject, type JsonObject, type JsonValue, objectsIn } from "../../../wire/json.ts";
import { readPart } from "../../read-message.ts";
import { type PlacedBlock, placed } from "./content.ts";

export interface PlacedTool {
  readonly tool: MessageTool;
  readonly path: string;
}

/** changesTools reports whether a block of a system message adds or removes a tool. */
export function changesTools({ extra }: ContentBlock): boolean {
  return extra?.type === "tool_addition" || extra?.type === "tool_removal";
}

/** offeredTools adds the paths of what it drops to `omitted`. Throws a Refusal. */
export function* offeredTools(
  { tools, messages }: CreateMessageRequest,
  omitted: Set<string>,
): CooperativeTask<PlacedTool[]> {
  const all = tools.map((tool, i) => ({ tool, path: `tools[${i}]` }));
  const offer = new Offer(all, omitted);
  for (const [i, { content }] of messages.entries()) {
    if (endsSlice(i)) yield;
    if (content.case !== "blocks") continue;
    for (const block of placed(content.value.blocks, `messages[${i}].content`)) offer.take(block);
  }
  yield;
  return offer.tools();
}

function isPutOff({ tool: { extra } }: PlacedTool): boolean {
  return extra?.defer_loading === true;
}

class Offer {
  readonly #unsaid: Set<string>;
  /** All tools by name, those not offered included; nameless ones and vendors' own by path. */
  readonly #known = new Map<string, PlacedTool>();
  readonly #offered = new Set<string>();
  readonly #removed = new Set<string>();
  #isFindable: boolean;
  /** isForVendor is whether the vendor's own search would find tools, which nobody runs here. */
  readonly #isForVendor: boolean;

  constructor(all: readonly PlacedTool[], omitted: Set<string>) {
    this.#unsaid = omitted;
    this.#isFindable = all.some(({ tool }) => /^tool_?search/i.test(tool.name ?? "") && !isVendorsSearch(tool));
    this.#isForVendor = all.some(({ tool }) => isVendorsSearch(tool));
    for (const placedTool of all) {
      const { tool, path } = placedTool;
      const key = tool.name && !this.#known.has(tool.name) ? tool.name : path;
      this.#known.set(key, placedTool);
      if (!isPutOff(placedTool)) this.#offered.add(key);
    }
  }

  take({ block, path }: PlacedBlock): void {
    const { content, extra } = block;
    if (content.case === "contentBlocks")
      for (const inner of placed(content.value.blocks, `${path}.content`)) this.take(inner);
    const isNamed = extra?.type === "tool_reference";
    if (isNamed) this.#add(extra.tool_name);
    if (changesTools(block)) this.#change(extra as JsonObject, path);
    const changes = extra?.type === "compaction" ? extra.tool_changes : undefined;
    const changed = objectsIn(changes);
    for (const change of changed) this.#change(change, path);
    // A tool that is removed leaves those that wait to be found as they are.
    this.#isFindable ||= isNamed || [extra, ...changed].some((change) => change?.type === "tool_addition");
  }

  tools(): PlacedTool[] {
    // Deferred tools that nothing could find are offered from the start.
    if (!this.#isFindable || this.#isForVendor) {
      for (const [key, placedTool] of this.#known) {
        if (this.#removed.has(key)) continue;
        if (isPutOff(placedTool)) this.#unsaid.add(`${placedTool.path}.defer_loading`);
        this.#offered.add(key);
      }
    }
    for (const [key, { path }] of this.#known) if (!this.#offered.has(key)) this.#unsaid.add(path);
    return [...this.#known].filter(([key]) => this.#offered.has(key)).map(([, tool]) => tool);
  }

  #add(name: JsonValue | undefined): void {
    if (typeof name === "string" && this.#known.has(name)) this.#offer(name);
  }

  #change({ type, tool }: JsonObject, path: string): void {
    if (!isObject(tool)) throw invalidType(`${path}.tool`, "expected an object");
    const { type: kind, name, definition } = tool;
    if (type === "tool_addition" && kind === "tool_definition")
      this.#define(definition ?? null, `${path}.tool.definition`);
    else if (kind !== "tool_reference") this.#unsaid.add(path);
    else if (type === "tool_addition") this.#add(name);
    else if (typeof name === "string") this.#remove(name);
  }

  #offer(name: string): void {
    this.#offered.add(name);
    this.#removed.delete(name);
  }

  #remove(name: string): void {
    this.#offered.delete(name);
    this.#removed.add(name);
  }

  #define(definition: JsonValue, path: string): void {
    const tool = readPart(MessageToolSchema, definition, path);
    const name = tool.name || path;
    this.#known.set(name, { tool, path });
    this.#offer(name);
  }
}
