/**
 * Calls of MCP servers that a vendor asks its caller to approve.
 *
 * A request and its answer say nothing beside the call that followed. What was refused is told as the call's result.
 * A call that is approved at the end of the conversation is refused: the vendor would make it now, and a chat model
 * cannot. A call whose approval has other items behind it was never made: the model is told so.
 */
import type { ResponseItem } from "../../../../gen/modelgateway/v1/responses_pb.ts";
import { invalidType, invalidValue, missingField } from "../../../call/refusals.ts";
import { textOrEmpty } from "../../../wire/json.ts";
import type { ToolStep } from "./vendor-items.ts";

export class ApprovedCalls {
  readonly #items: readonly ResponseItem[];
  /** The ids of the requests whose calls are in the conversation. */
  #made: ReadonlySet<string> | undefined;
  /** The responses to requests that end the conversation. */
  #last: ReadonlySet<ResponseItem> | undefined;

  constructor(items: readonly ResponseItem[]) {
    this.#items = items;
  }

  /** Reports whether an item only led to a call that the conversation has, too. Throws a Refusal for one that says neither yes nor no. */
  areToldElsewhere(item: ResponseItem, type: string, path: string): boolean {
    if (type === "mcp_approval_request") return this.#found().has(item.id ?? "");
    return isResponse(item) && this.#found().has(approvalOf(item, path).id);
  }

  /** Returns the result of a call that was not made; undefined for any other item. Throws a Refusal for one that is to be made now. */
  notMade(item: ResponseItem, path: string): ToolStep | undefined {
    if (!isResponse(item)) return undefined;
    const { id, isAllowed, reason } = approvalOf(item, path);
    if (isAllowed && this.#isAtEnd(item)) {
      const why = "the model behind this name cannot call MCP servers; offer their tools as your own";
      throw invalidValue(path, why);
    }
    const outcome = isAllowed
      ? "The user allowed this call, and it was not made."
      : "The user did not allow this call.";
    return { id, result: { text: [outcome, reason].filter(Boolean).join(" "), images: [] } };
  }

  /** Reports whether nothing but responses to such requests follows. */
  #isAtEnd(item: ResponseItem): boolean {
    this.#last ??= new Set(this.#items.slice(this.#items.findLastIndex((other) => !isResponse(other)) + 1));
    return this.#last.has(item);
  }

  #found(): ReadonlySet<string> {
    const ids = () =>
      this.#items.map(({ extra }) => textOrEmpty(extra?.type === "mcp_call" && extra.approval_request_id));
    this.#made ??= new Set(ids().filter(Boolean));
    return this.#made;
  }
}

function isResponse({ extra }: ResponseItem): boolean {
  return extra?.type === "mcp_approval_response";
}

interface Approval {
  /** The id of the request. */
  readonly id: string;
  readonly isAllowed: boolean;
  readonly reason: string;
}

/** approvalOf reads a response to such a request. Throws a Refusal where it says neither yes nor no. */
function approvalOf({ extra = {} }: ResponseItem, path: string): Approval {
  const { approve = null, approval_request_id: id, reason } = extra;
  if (approve === null) throw missingField(`${path}.approve`);
  if (typeof approve !== "boolean") throw invalidType(`${path}.approve`, "expected a boolean");
  return { id: textOrEmpty(id), isAllowed: approve, reason: textOrEmpty(reason) };
}
