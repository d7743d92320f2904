/**
 * The members by which servers of a cluster tell each other where they keep what they have computed of a call, and by which a server goes on
 * with a session that it has. Only the servers' own router may set them: a caller's would name memory of other accounts' calls, and addresses
 * to fetch it from.
 *
 * Sources: https://docs.vllm.ai/en/latest/features/disagg_prefill.html, https://docs.sglang.ai/advanced_features/pd_disaggregation.html
 */
import type { JsonObject } from "@bufbuild/protobuf";

const members = [
  ...["kv_transfer_params", "ec_transfer_params", "disaggregated_params", "session_params"],
  ...["bootstrap_host", "bootstrap_port", "bootstrap_room"],
];

/** serversStateIn returns which of them a request has. */
export function serversStateIn(request: JsonObject): readonly string[] {
  return members.filter((key) => (request[key] ?? null) !== null);
}
