/**
 * A chat model's output, piece by piece → the items of a response and their events.
 *
 * Reasoning and messages follow one another: each ends when the model goes on to something else. Calls stay open
 * until the answer ends, because their pieces may interleave. The same pieces make the same items, unary or streamed.
 */
import type { AssistantMessage, LogProbs } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import type { JsonObject, JsonValue } from "../../../wire/json.ts";
import { sealedDetails, sealedSignature, signedId } from "../../call-signature.ts";
import { readChatOutput } from "../../chat-output.ts";
import type { Target } from "../../translation.ts";
import { CallItem } from "./call-item.ts";
import { ImageItem, type Item, type ItemStatus, imageData, ReasoningItem } from "./items.ts";
import { MessageItem } from "./message.ts";
import type { AnswerContext } from "./response.ts";
import { type BeginCall, Calls } from "./tool-calls.ts";

export type OutputContext = Pick<AnswerContext, "answerId" | "names" | "target" | "passesBlocks" | "sealsAll">;

export class Output {
  readonly #answerId: string;
  readonly #items: Item[] = [];
  readonly #calls: Calls;
  /** Finished items with their JSON. */
  readonly #ended = new Map<Item, JsonObject>();
  /** The last item, where it is open and no call. */
  #prose: ReasoningItem | MessageItem | ImageItem | undefined;
  readonly #target: Target | undefined;
  readonly #passesBlocks: boolean;
  readonly #sealsAll: boolean;
  #signature = "";
  refused = false;

  constructor({ answerId, names, target, passesBlocks, sealsAll }: OutputContext) {
    this.#answerId = answerId;
    this.#target = target;
    this.#passesBlocks = passesBlocks;
    this.#sealsAll = sealsAll;
    const begin: BeginCall = (id, name, signature) => {
      const index = this.#items.length;
      const own = id || `call_${answerId}_${index}`;
      const item = new CallItem(index, answerId, names.callerTool(name), signedId(own, signature, target));
      this.#items.push(item);
      return item;
    };
    this.#calls = new Calls(begin, (name) => names.isPartial(name));
  }

  take(message: AssistantMessage | undefined, logprobs: LogProbs | undefined): JsonObject[] {
    const { reasoning, text, refusal, calls, signature, details, signed, images } = readChatOutput(message);
    const given = this.#passesBlocks ? message?.extra?.thinking_blocks : undefined;
    const blocks: JsonValue[] = Array.isArray(given) ? [...given] : [];
    const wantedBack = this.#passesBlocks ? details : [...details, ...signed];
    if (wantedBack.length > 0) {
      blocks.push({ type: "redacted_thinking", data: sealedDetails(wantedBack, this.#target) });
    }
    const events = [...this.#reason(reasoning, blocks)];
    events.push(...this.#say(text, logprobs, refusal));
    if (message && this.#prose instanceof MessageItem) events.push(...this.#prose.cite(message.annotations));
    if (signature !== "") this.#sign(signature);
    for (const url of images) events.push(...this.#show(url));
    if (calls.length > 0) events.push(...this.#endProse());
    for (const call of calls) events.push(...this.#calls.take(call));
    return events;
  }

  /** Ends the open items. `status` is that of the last item. */
  end(status: ItemStatus): JsonObject[] {
    const events = this.#calls.end();
    const open = this.#items.filter((item) => !this.#ended.has(item));
    const last = this.#items.at(-1);
    for (const item of open) events.push(...this.#end(item, item === last ? status : "completed"));
    return events;
  }

  /** Returns the finished items. */
  json(): JsonObject[] {
    return this.#items.map((item) => this.#ended.get(item)).filter((json) => json !== undefined);
  }

  #reason(text: string, blocks: readonly JsonValue[]): JsonObject[] {
    if (text === "" && blocks.length === 0) return [];
    const events: JsonObject[] = [];
    let item = this.#prose;
    // Each seal has an item with the text that it signs.
    if (!(item instanceof ReasoningItem) || (text !== "" && item.isSealed)) {
      item = new ReasoningItem(this.#items.length, this.#answerId, this.#sealsAll);
      events.push(...this.#begin(item));
    }
    item.seal(blocks);
    return [...events, ...item.say(text)];
  }

  #say(text: string, logprobs: LogProbs | undefined, refusal: string): JsonObject[] {
    if (text === "" && refusal === "") return [];
    this.refused ||= refusal !== "";
    const events: JsonObject[] = [];
    let item = this.#prose;
    if (!(item instanceof MessageItem)) {
      item = new MessageItem(this.#items.length, this.#answerId);
      item.sign(this.#signature);
      events.push(...this.#begin(item));
    }
    return [...events, ...item.say(text, logprobs), ...item.refuse(refusal)];
  }

  /** An image of the web has no item: the text tells its address. */
  #show(url: string): JsonObject[] {
    const image = imageData(url);
    if (!image) return this.#say(`![image](${url})`, undefined, "");
    const item = new ImageItem(this.#items.length, this.#answerId, image);
    return [...this.#begin(item), ...this.#endProse()];
  }

  /** Sets the signature, which may come before its text. */
  #sign(signature: string): void {
    this.#signature = sealedSignature(signature, this.#target);
    if (this.#prose instanceof MessageItem) this.#prose.sign(this.#signature);
  }

  #begin(item: ReasoningItem | MessageItem | ImageItem): JsonObject[] {
    const ended = [...this.#endProse(), ...this.#calls.release()];
    this.#items.push(item);
    this.#prose = item;
    return [...ended, ...item.begin()];
  }

  #endProse(): JsonObject[] {
    const item = this.#prose;
    this.#prose = undefined;
    return item ? this.#end(item, "completed") : [];
  }

  #end(item: Item, status: ItemStatus): JsonObject[] {
    const events = item.end(status);
    this.#ended.set(item, item.json(status));
    return events;
  }
}
