/**
 * Orders the pieces of a chat stream as the Messages API requires: one block after another, each complete.
 *
 * Blocks queue in the order in which they began. The first is streamed; the others collect their pieces. Text and
 * thinking end when another block begins. A tool call ends only when its input is a complete JSON object, because
 * pieces of calls may interleave; it also waits for its id and name. At the end all blocks are written in order. A
 * piece for a call that has ended fails the stream, since it can no longer be written.
 */
import { upstreamFailed } from "../../../call/refusals.ts";
import type { CallPiece } from "../../../call/tools/call-list.ts";
import { CallList } from "../../../call/tools/call-list.ts";
import { ToolInput } from "../../../call/tools/tool-input.ts";
import type { JsonObject } from "../../../wire/json.ts";
import { nameAfter, type SealedThinking } from "../../chat-output.ts";
import type { ToolIds, ToolNames } from "../tool-names.ts";
import { redactedBlock, signatureBlock, textBlock, thinkingBlock, toolUseBlock } from "./blocks.ts";

interface ProseBlock {
  readonly kind: "text" | "thinking";
  waiting: string;
  seal: string;
  /** Citations that were not written yet. */
  citations: JsonObject[];
}

/** HiddenBlock is reasoning without visible text. */
type HiddenBlock = { readonly kind: "redacted_thinking"; readonly waiting: ""; readonly seal: string };

/** SignatureBlock is complete from the start. */
type SignatureBlock = { readonly kind: "signature"; readonly sealed: string; readonly waiting: "" };
type Block = ProseBlock | HiddenBlock | CallBlock | SignatureBlock;

interface CallBlock {
  readonly kind: "tool_use";
  id: string;
  name: string;
  signature: string;
  /** Input that was not written yet. */
  waiting: string;
  /** All input so far. */
  readonly input: ToolInput;
  ended: boolean;
}

const noCall = { id: "", name: "", signature: "" };

export class BlockQueue {
  readonly #ids: ToolIds;
  readonly #names: ToolNames;
  readonly #calls = new CallList<CallBlock>();
  readonly #queue: Block[] = [];
  /** The index of the first block in the queue. */
  #index = 0;
  #open = false;
  /** Citations that wait for a text. */
  readonly #citations: JsonObject[] = [];

  constructor(ids: ToolIds, names: ToolNames) {
    this.#ids = ids;
    this.#names = names;
  }

  get hasCalls(): boolean {
    return this.#calls.all.length > 0;
  }

  say(kind: ProseBlock["kind"], piece: string): void {
    if (piece === "") return;
    const last = this.#queue.at(-1);
    if (last?.kind === kind && (last as ProseBlock).seal === "") (last as ProseBlock).waiting += piece;
    else this.#queue.push({ kind, waiting: piece, seal: "", citations: [] });
    if (kind === "text" && this.#citations.length > 0) this.cite(this.#citations.splice(0));
  }

  /** Adds citations to the text that is not over; without one they wait for the next. */
  cite(citations: readonly JsonObject[]): void {
    const text = this.#queue.findLast(({ kind }) => kind === "text") as ProseBlock | undefined;
    (text?.citations ?? this.#citations).push(...citations);
  }

  /** Seals the reasoning before it, or adds a block for sealed reasoning without visible text. */
  seal({ thinking, seal }: SealedThinking): void {
    const last = this.#queue.at(-1);
    if (thinking === "") this.#queue.push({ kind: "redacted_thinking", waiting: "", seal });
    else if (last?.kind === "thinking" && last.seal === "") last.seal = seal;
    else this.#queue.push({ kind: "thinking", waiting: thinking, seal, citations: [] });
  }

  /** Adds a signature of the text so far. */
  sign(sealed: string): void {
    this.#queue.push({ kind: "signature", sealed, waiting: "" });
  }

  /** Throws a Refusal where the call has ended. */
  call(piece: CallPiece): void {
    const call = this.#calls.find(piece) ?? this.#begin(piece);
    const input = call.input.add(piece.input);
    if (call.ended && input.trim() !== "") {
      throw upstreamFailed("it went on with a tool call that had ended");
    }
    call.id ||= piece.id;
    call.name = nameAfter(call.name, piece.name, this.#isPartial);
    call.signature ||= piece.signature;
    call.waiting += input;
  }

  readonly #isPartial = (name: string) => this.#names.isPartial(name);

  #begin(piece: CallPiece): CallBlock {
    const call: CallBlock = { kind: "tool_use", ...noCall, waiting: "", input: new ToolInput(), ended: false };
    this.#queue.push(call);
    return this.#calls.add(piece, call);
  }

  /** Returns the events that can be written now; at the end, all that are left. */
  events(atEnd: boolean): JsonObject[] {
    const events: JsonObject[] = [];
    for (let first = this.#queue[0]; first; first = this.#queue[0]) {
      if (!this.#open) {
        if (!atEnd && !this.#isNamed(first)) break;
        events.push({ type: "content_block_start", index: this.#index, content_block: this.#startOf(first) });
        this.#open = true;
      }
      const isOver = atEnd || (this.#queue.length > 1 && isWhole(first));
      if (isOver && first.kind === "tool_use") first.waiting += first.input.rest();
      if (first.kind !== "redacted_thinking" && first.kind !== "signature" && first.waiting !== "")
        events.push({ type: "content_block_delta", index: this.#index, delta: take(first) });
      if (first.kind === "text") events.push(...this.#cited(first));
      if (!isOver) break;
      events.push(...this.#stop(first));
    }
    return events;
  }

  #isNamed(block: Block): boolean {
    return block.kind !== "tool_use" || (block.id !== "" && block.name !== "" && !this.#isPartial(block.name));
  }

  #startOf(block: Block): JsonObject {
    if (block.kind === "tool_use") return toolUseBlock(block, {}, this.#ids, this.#names);
    if (block.kind === "signature") return signatureBlock(block.sealed);
    if (block.kind === "redacted_thinking") return redactedBlock(block.seal);
    return block.kind === "text" ? textBlock("") : thinkingBlock("");
  }

  #cited(text: ProseBlock): JsonObject[] {
    const deltas = text.citations.map((citation) => ({ type: "citations_delta", citation }));
    text.citations = [];
    return deltas.map((delta) => ({ type: "content_block_delta", index: this.#index, delta }));
  }

  #stop(block: Block): JsonObject[] {
    const index = this.#index;
    this.#queue.shift();
    this.#index += 1;
    this.#open = false;
    if (block.kind === "tool_use") block.ended = true;
    const signed = block.kind === "thinking" ? [{ type: "signature_delta", signature: block.seal }] : [];
    const signature = signed.map((delta) => ({ type: "content_block_delta", index, delta }));
    return [...signature, { type: "content_block_stop", index }];
  }
}

/** isWhole reports whether nothing can be added to a block that is not the last. */
function isWhole(block: Block): boolean {
  return block.kind !== "tool_use" || block.input.isComplete;
}

function take(block: Exclude<ProseBlock | HiddenBlock | CallBlock, HiddenBlock>): JsonObject {
  const piece = block.waiting;
  block.waiting = "";
  if (block.kind === "tool_use") return { type: "input_json_delta", partial_json: piece };
  return block.kind === "text" ? { type: "text_delta", text: piece } : { type: "thinking_delta", thinking: piece };
}
