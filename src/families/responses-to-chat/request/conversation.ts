/**
 * Instructions and items → the messages of a chat.
 *
 * The model's items between two messages of others become one message (`assistant.ts`). A tool result holds text
 * only: its images and files come after consecutive results, in a user's message that names their call, unless chat is
 * translated further. Tools that a vendor has by kind, and those that it ran, become calls with their results
 * (`vendor-items.ts`). Other items that only a vendor knows are dropped and named. References have been resolved
 * before.
 */
import { Role } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import {
  type CreateResponseRequest,
  type ResponseItem,
  ResponseItemType as Type,
} from "../../../../gen/modelgateway/v1/responses_pb.ts";
import { invalidType, invalidValue, itemNotFound, missingField } from "../../../call/refusals.ts";
import { lastAnswerIn } from "../../../call/request/last-answer.ts";
import { type CooperativeTask, endsSlice } from "../../../runtime/cooperative.ts";
import { isObject, type JsonObject } from "../../../wire/json.ts";
import { unsignedId } from "../../call-signature.ts";
import { madeFrom } from "../../paths/origins.ts";
import { pairedResults } from "../../tools/paired-results.ts";
import { isCompacted, isTrigger, summaryMessage, summaryRequest } from "../compaction.ts";
import { agentMessage, searchResult } from "./agent-items.ts";
import { ApprovedCalls } from "./approvals.ts";
import { AssistantTurn, type ConversationContext } from "./assistant.ts";
import { chatParts, contentOf, isText, type Shown } from "./content.ts";
import { shortId, type ToolStep, toolStepOf } from "./vendor-items.ts";

/** conversationOf throws a Refusal for what a chat model must not do without. */
export function* conversationOf(
  { instructions, input }: CreateResponseRequest,
  context: ConversationContext,
): CooperativeTask<JsonObject[]> {
  const items = input.case === "inputItems" ? input.value.items : [];
  const conversation = new Conversation(context, new ApprovedCalls(items));
  if (instructions) conversation.add(madeFrom("instructions", { role: "system", content: instructions }));
  if (input.case === "inputText") conversation.add(madeFrom("input", { role: "user", content: input.value }));
  let before: ResponseItem | undefined;
  const lastAnswer = yield* lastAnswerIn(items, isOfModel, isOfOthers);
  for (const [i, item] of items.entries()) {
    conversation.isAnswered = i <= lastAnswer;
    if (before) conversation.take(before, `input[${i - 1}]`, item);
    before = item;
    if (endsSlice(i)) yield;
  }
  conversation.isAnswered = false;
  if (before) conversation.take(before, `input[${items.length - 1}]`, undefined);
  return yield* conversation.end();
}

const roles: Readonly<Partial<Record<Role, string>>> = {
  [Role.SYSTEM]: "system",
  [Role.DEVELOPER]: "developer",
  [Role.USER]: "user",
};

function isOfModel({ role, type }: ResponseItem): boolean {
  return role === Role.ASSISTANT || modelsTypes.has(type);
}

const modelsTypes: ReadonlySet<Type | undefined> = new Set([Type.FUNCTION_CALL, Type.CUSTOM_TOOL_CALL, Type.REASONING]);

/** isOfOthers reports what the user or another agent says, what the user decides, and what tools have given. */
function isOfOthers({ role, type, extra }: ResponseItem): boolean {
  return role === Role.USER || givenTypes.has(type) || /_output$|^agent_message$|_response$/.test(`${extra?.type}`);
}

const givenTypes: ReadonlySet<Type | undefined> = new Set([Type.FUNCTION_CALL_OUTPUT, Type.CUSTOM_TOOL_CALL_OUTPUT]);

class Conversation {
  /** isAnswered is whether the model has answered since the item that is taken. */
  isAnswered = false;
  readonly #context: ConversationContext;
  readonly #approved: ApprovedCalls;
  /** Ids of calls by the ids of their items, which some results name instead. */
  readonly #callIds = new Map<string, string>();
  /** The number of steps without an id so far. */
  #unnamed = 0;
  /** The id of the last tool search, which a vendor's own results do not name. */
  #searchId = "";
  #messages: JsonObject[] = [];
  #turn: AssistantTurn | undefined;
  /** Images and files of the last tool results. */
  #attached: JsonObject[] = [];

  constructor(context: ConversationContext, approved: ApprovedCalls) {
    this.#context = context;
    this.#approved = approved;
  }

  /** A chat that is translated further ends up at a vendor who fetches files by their URL. */
  get #shown(): Shown {
    const { customTools, dropped } = this.#context;
    return { takesLinks: customTools === undefined, unshown: this.isAnswered ? dropped : undefined };
  }

  add(message: JsonObject): void {
    this.#endTurn();
    this.#endResults();
    this.#messages.push(message);
  }

  *end(): CooperativeTask<JsonObject[]> {
    this.#endTurn();
    this.#endResults();
    return this.#messages.length > 0 ? yield* pairedResults(this.#messages) : [{ role: "user", content: "" }];
  }

  take(item: ResponseItem, path: string, next?: ResponseItem): void {
    switch (item.type) {
      case Type.FUNCTION_CALL:
      case Type.CUSTOM_TOOL_CALL:
        this.#turnFor(path).call(item, path);
        return;
      case Type.FUNCTION_CALL_OUTPUT:
      case Type.CUSTOM_TOOL_CALL_OUTPUT:
        this.#result(item, path);
        return;
      case Type.REASONING:
        this.#turnFor(path, true).reason(item, path);
        return;
      case Type.ITEM_REFERENCE:
        throw itemNotFound(item.id ?? "");
    }
    if (isTrigger(item)) this.#compact(path, next);
    else if (isCompacted(item)) this.#summary(item, path);
    else if (typeof item.extra?.type === "string") this.#other(item, item.extra.type, path);
    else this.#message(item, path);
  }

  /** Asks for a summary; where one was made already, drops the messages it stands for. */
  #compact(path: string, next: ResponseItem | undefined): void {
    if (!next) {
      this.add(summaryRequest());
      return;
    }
    if (!isCompacted(next)) throw invalidValue(path, "it has to be the last item");
    this.#endTurn();
    this.#attached = [];
    this.#messages = this.#messages.filter(({ role }) => role === "system" || role === "developer");
  }

  #summary(item: ResponseItem, path: string): void {
    const message = summaryMessage(item);
    if (message) this.add(madeFrom(path, message));
    else this.#context.dropped.add(path);
  }

  /** Takes an item of a kind that only some clients know. */
  #other(item: ResponseItem, type: string, path: string): void {
    switch (type) {
      case "additional_tools":
      case "configuration_update":
        return;
      case "tool_search_output":
        // One without any search is a result without a call.
        this.#answer(path, item.callId || this.#searchId || shortId(path), searchResult(item, this.#context.names));
        return;
      case "agent_message":
        this.add(madeFrom(path, { role: "user", content: agentMessage(item, path) }));
        return;
    }
    if (this.#approved.areToldElsewhere(item, type, path)) return;
    const step = this.#approved.notMade(item, path) ?? toolStepOf(item, type, path, this.#context.names);
    if (step) this.#step(item, type, path, step);
    else this.#context.dropped.add(path);
  }

  /** Tells of a tool at work. */
  #step(item: ResponseItem, type: string, path: string, { id: known, call, result }: ToolStep): void {
    const id = known ?? shortId(`${this.#unnamed++} ${JSON.stringify(call)}`);
    if (call) {
      this.#turnFor(path).callTool(id, path, call.name, call.input);
      if (item.id) this.#callIds.set(item.id, id);
      if (type === "tool_search_call") this.#searchId = id;
    }
    if (!result) return;
    const images = result.images.map((url) => ({ type: "image_url", image_url: { url } }));
    this.#answer(path, this.#callIds.get(item.id ?? "") ?? this.#callIds.get(id) ?? id, result.text, images);
  }

  #message(item: ResponseItem, path: string): void {
    const { role, content } = item;
    if (role === Role.ASSISTANT) {
      this.#turnFor(path, true).say(item);
      return;
    }
    if (role === undefined) throw missingField(`${path}.role`);
    const word = roles[role];
    if (!word) throw invalidValue(`${path}.role`, "expected user, assistant, system or developer");
    const text =
      content.case === "contentParts" ? contentOf(content.value.parts, `${path}.content`, this.#shown) : content.value;
    this.add(madeFrom(path, { role: word, content: text ?? "" }));
  }

  #turnFor(path: string, begins = false): AssistantTurn {
    if (begins && this.#turn?.isClosed) this.#endTurn();
    this.#endResults();
    this.#turn ??= new AssistantTurn(path, this.#context);
    return this.#turn;
  }

  #result({ callId: signed, output, extra }: ResponseItem, path: string): void {
    if (!signed) throw missingField(`${path}.call_id`);
    if (isObject(extra?.output)) throw invalidType(`${path}.output`, "expected a string or a list, got an object");
    const parts = output.case === "outputParts" ? output.value.parts : [];
    const text = output.case === "outputText" ? output.value : parts.filter(isText).map((part) => part.text ?? "");
    const others = parts.flatMap((part, i) =>
      isText(part) ? [] : chatParts(part, `${path}.output[${i}]`, this.#shown),
    );
    this.#answer(path, signed, [text].flat().join("\n"), others);
  }

  /** Adds the result of a call. `others` is what its text cannot hold. */
  #answer(path: string, signed: string, content: string, others: readonly JsonObject[] = []): void {
    const callId = unsignedId(signed);
    this.#endTurn();
    const stay = others.length > 0 && this.#context.passesBlocks;
    const said = content === "" ? [] : [{ type: "text", text: content }];
    const told = stay ? [...said, ...others] : content;
    this.#messages.push(madeFrom(path, { role: "tool", tool_call_id: callId, content: told }));
    if (others.length > 0 && !stay)
      this.#attached.push({ type: "text", text: `Attached to the result of ${callId}:` }, ...others);
  }

  #endTurn(): void {
    if (this.#turn) this.#messages.push(...this.#turn.message());
    this.#turn = undefined;
  }

  #endResults(): void {
    if (this.#attached.length > 0) this.#messages.push({ role: "user", content: this.#attached });
    this.#attached = [];
  }
}
