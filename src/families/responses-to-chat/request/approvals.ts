/**
 * Calls of MCP servers that a vendor asks its caller to approve.
 *
 * A request and its answer say nothing beside the call that followed. What was refused is told as the call's result.
 * What was approved and did not follow is for the vendor to run: a chat model cannot, and the caller is told.
 */
import type { ResponseItem } from "../../../../gen/modelgateway/v1/responses_pb.ts";
import { invalidValue } from "../../../call/refusals.ts";
import { textOrEmpty } from "../../../wire/json.ts";
import type { ToolStep } from "./vendor-items.ts";

export class ApprovedCalls {
  readonly #items: readonly ResponseItem[];
  /** The ids of the requests whose calls are in the conversation. */
  #made: ReadonlySet<string> | undefined;

  constructor(items: readonly ResponseItem[]) {
    this.#items = items;
  }

  /** Reports whether an item only led to a call that the conversation has, too. */
  areToldElsewhere({ id, extra }: ResponseItem, type: string): boolean {
    if (type === "mcp_approval_request") return this.#found().has(id ?? "");
    return type === "mcp_approval_response" && this.#found().has(textOrEmpty(extra?.approval_request_id));
  }

  /** Returns the result of a call that was not allowed; undefined for any other item. Throws a Refusal for one that nobody runs. */
  refused({ extra }: ResponseItem, type: string, path: string): ToolStep | undefined {
    if (type !== "mcp_approval_response") return undefined;
    const { approve, approval_request_id: id, reason } = extra ?? {};
    if (approve !== false) {
      const why = "the model behind this name cannot call MCP servers; offer their tools as your own";
      throw invalidValue(path, why);
    }
    const text = ["The user did not allow this call.", textOrEmpty(reason)].filter(Boolean).join(" ");
    return { id: textOrEmpty(id), result: { text, images: [] } };
  }

  #found(): ReadonlySet<string> {
    const ids = () =>
      this.#items.map(({ extra }) => textOrEmpty(extra?.type === "mcp_call" && extra.approval_request_id));
    this.#made ??= new Set(ids().filter(Boolean));
    return this.#made;
  }
}
