/**
 * Makes calls of writing RPCs wait, before they begin, until no other process writes, so that their writes do not block the event
 * loop. Writing RPCs are those that the contract has audited.
 */
import type { DescMethod } from "@bufbuild/protobuf";
import type { Handler } from "../../call/call.ts";
import { accessOf } from "./authorize.ts";

/** `free` resolves as soon as no other process writes, and rejects after a time-out. */
export function withFreeStorage(handle: Handler, methods: readonly DescMethod[], free: () => Promise<void>): Handler {
  const writing = new Set(methods.filter((method) => accessOf(method).audit !== undefined));
  return (call) => (writing.has(call.method) ? free().then(() => handle(call)) : handle(call));
}
