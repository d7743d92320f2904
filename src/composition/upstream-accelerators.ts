/** The accelerators of calls to upstreams, which whoever asks an upstream needs without the others. */
import type { AcceleratorName } from "../config/shape.ts";
import { type CreateUpstreamClient, createConnectionPool } from "../http1/client/index.ts";
import { createTemplateReader } from "../providers/openai/delta-template.ts";

export type UpstreamAccelerators = Awaited<ReturnType<typeof chooseUpstreamAccelerators>>;

/** chooseUpstreamAccelerators loads undici only where it serves: that takes 20 ms of the start. */
export async function chooseUpstreamAccelerators(chosen: ReadonlySet<AcceleratorName>) {
  const has = (name: AcceleratorName) => chosen.has(name);
  const remembersHeads = has("known-heads");
  const createPool: CreateUpstreamClient = (origin, timeouts) => createConnectionPool(origin, timeouts, remembersHeads);
  return {
    /** Spares the server and the client of `http1/` heads that come again on a connection. */
    remembersHeads,
    /** Sends requests to upstreams. */
    createClient: has("http1-client")
      ? createPool
      : (await import("../providers/upstream/undici.ts")).createUndiciClient,
    /** Spares most chunks of a stream the parser and the translation's reader and writer. */
    createTemplateReader: has("delta-template") ? createTemplateReader : undefined,
  };
}
