/**
 * Accelerators: says of each contract whether its plain implementation serves, or a faster one. No other part knows which are
 * chosen: each is given a function or a value. docs/speed.md tells what each brings.
 */
import type { AcceleratorName } from "../config/shape.ts";
import { createGrpcDoor } from "../doors/rpc/grpc-fast.ts";
import { createExactLedger } from "../ledger/exact-ledger.ts";
import { createLeasedLedger } from "../ledger/leases/leased-ledger.ts";
import { quickCheck } from "../wire/check/index.ts";
import { chooseUpstreamAccelerators } from "./upstream-accelerators.ts";

export type Accelerators = Awaited<ReturnType<typeof chooseAccelerators>>;

export async function chooseAccelerators(chosen: ReadonlySet<AcceleratorName>) {
  const has = (name: AcceleratorName) => chosen.has(name);
  return {
    ...(await chooseUpstreamAccelerators(chosen)),
    /** Serves plain POSTs of HTTP/1.1; else Node's server serves them, as it does all others. */
    servesPlainPosts: has("http1-server"),
    /** Serves gRPC in its plainest form; else connect-node does, as it does all other RPCs. */
    createGrpcDoor: has("grpc") ? createGrpcDoor : undefined,
    /** Spares most requests the reader and protovalidate. */
    quickCheck: has("quick-check") ? quickCheck : undefined,
    /** Takes holds from leases, where credit is ample; else the books decide each. */
    createLedger: has("leases") ? createLeasedLedger : createExactLedger,
    /** Has the books append what leases cover to a journal, and apply it a little later; else each turn is a transaction. */
    hasJournal: has("journal"),
  };
}
