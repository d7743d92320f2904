/** The transport for Node 20 or newer, browsers and workers: the Connect protocol over fetch. */
import type { Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import type { GatewayOptions } from "./options.ts";
import { wrapTransport } from "./wrap-transport.ts";

export interface FetchOptions extends GatewayOptions {
  /** Used in place of the global fetch. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

/** Throws for options that cannot be right. Makes no connection yet. */
export function createTransport(options: FetchOptions): Transport {
  const { baseUrl, fetch } = options;
  const base = createConnectTransport({ baseUrl, useBinaryFormat: true, ...(fetch && { fetch }) });
  return wrapTransport(base, options);
}
