/** The state of a redeem code: whether it can be claimed, and why not. */
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { RedeemCode } from "../../../../gen/modelgateway/v1/operator_pb.ts";

export type CodeState = "open" | "claimed" | "revoked" | "expired";

/** codeState takes `now` in milliseconds since 1970. */
export function codeState({ claimedAt, revokedAt, expiresAt }: RedeemCode, now: number): CodeState {
  if (claimedAt) return "claimed";
  if (revokedAt) return "revoked";
  return expiresAt && timestampMs(expiresAt) <= now ? "expired" : "open";
}
