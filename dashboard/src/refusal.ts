/** Reads from an error why the gateway refused a call. */
import { Code, ConnectError } from "@connectrpc/connect";
import { type DocumentFault, ErrorDetailSchema, Reason } from "../../gen/modelgateway/v1/errors_pb.ts";
import { ConflictReason } from "../../gen/modelgateway/v1/reasons_pb.ts";

export { Reason };

export interface Refusal {
  readonly reason: Reason;
  readonly code: Code;
  /** message is the gateway's own, in English. */
  readonly message: string;
  /** param is the field at fault; empty if there is none. */
  readonly param: string;
  /** requestId is empty if the gateway was not reached. */
  readonly requestId: string;
  /** faults are those of a document, each with its place. */
  readonly faults: readonly DocumentFault[];
  /** conflict is what the call conflicts with, with its parameters; `UNSPECIFIED` where it does not. */
  readonly conflict: ConflictReason;
  readonly parameters: Readonly<Record<string, string>>;
}

export function refusalOf(error: unknown): Refusal {
  const connect = ConnectError.from(error);
  const [detail] = connect.findDetails(ErrorDetailSchema);
  return {
    reason: detail?.reason ?? Reason.UNSPECIFIED,
    code: connect.code,
    message: connect.rawMessage,
    param: detail?.param ?? "",
    requestId: detail?.requestId ?? "",
    faults: detail?.faults ?? [],
    conflict: detail?.conflict ?? ConflictReason.UNSPECIFIED,
    parameters: detail?.parameters ?? {},
  };
}

/** endsSession returns whether the session is over: it ended, or its account was suspended. */
export function endsSession(error: unknown): boolean {
  const { reason } = refusalOf(error);
  return reason === Reason.SESSION_ENDED || reason === Reason.ACCOUNT_SUSPENDED;
}

/** isPassing returns whether the same call may succeed a moment later. */
export function isPassing(error: unknown): boolean {
  const { code, reason } = refusalOf(error);
  return code === Code.Unavailable || code === Code.DeadlineExceeded || reason === Reason.RATE_LIMITED;
}
