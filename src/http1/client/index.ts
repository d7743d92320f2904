/** An HTTP/1.1 client for upstreams: its contract, and the implementation that is tuned for many short requests. */

export { type Fields, writeFields } from "../fields.ts";
export { isReset } from "../node-internals.ts";
export type { Body } from "../write-message.ts";
export * from "./contract.ts";
export { createConnectionPool } from "./pool.ts";
export { checkPath } from "./request-head.ts";
