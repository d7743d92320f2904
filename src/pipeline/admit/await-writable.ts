/**
 * Has calls of RPCs that write wait until no other process writes, before they begin: what they write then is written at once,
 * and the event loop is not held up. Which RPCs write is known by their contract: those that the audit log tells of.
 */
import type { DescMethod } from "@bufbuild/protobuf";
import type { Handler } from "../../call/call.ts";
import { accessOf } from "./authorize.ts";

/** `free` resolves as soon as no other process writes, and rejects where that takes too long. */
export function withFreeStorage(handle: Handler, methods: readonly DescMethod[], free: () => Promise<void>): Handler {
  const writing = new Set(methods.filter((method) => accessOf(method).audit !== undefined));
  return (call) => (writing.has(call.method) ? free().then(() => handle(call)) : handle(call));
}
