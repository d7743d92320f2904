/**
 * Calls of MCP servers that a vendor asks its caller to approve.
 *
 * A request and its answer say nothing beside the call that followed. What was refused is told as the call's result.
 * A call that is approved at the end of the conversation is refused: the vendor would make it now, and a chat model
 * cannot. A call whose approval has other items behind it was never made: the model is told so.
 */
import type { ResponseItem } from "../../../../gen/modelgateway/v1/responses_pb.ts";
import { invalidValue } from "../../../call/refusals.ts";
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

  /** Reports whether an item only led to a call that the conversation has, too. */
  areToldElsewhere({ id, extra }: ResponseItem, type: string): boolean {
    if (type === "mcp_approval_request") return this.#found().has(id ?? "");
    return type === "mcp_approval_response" && this.#found().has(textOrEmpty(extra?.approval_request_id));
  }

  /** Returns the result of a call that was not made; undefined for any other item. Throws a Refusal for one that is to be made now. */
  notMade(item: ResponseItem, path: string): ToolStep | undefined {
    if (!isResponse(item)) return undefined;
    const { approve, approval_request_id: id, reason } = item.extra ?? {};
    if (approve !== false && this.#isAtEnd(item)) {
      const why = "the model behind this name cannot call MCP servers; offer their tools as your own";
      throw invalidValue(path, why);
    }
    const outcome =
      approve === false ? "The user did not allow this call." : "The user allowed this call, and it was not made.";
    const text = [outcome, textOrEmpty(reason)].filter(Boolean).join(" ");
    return { id: textOrEmpty(id), result: { text, images: [] } };
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
