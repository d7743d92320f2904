/**
 * The transport for services: gRPC over HTTP/2, all calls over one connection. It needs Node 22 or newer and the package
 * `@connectrpc/connect-node`.
 */
import type { Transport } from "@connectrpc/connect";
import { createGrpcTransport, type GrpcTransportOptions } from "@connectrpc/connect-node";
import type { GatewayOptions } from "./options.ts";
import { wrapTransport } from "./wrap-transport.ts";

export interface GrpcOptions extends GatewayOptions {
  /** Options of connect-node, as `pingIntervalMs`, `nodeOptions` for TLS, and `sendCompression`. */
  readonly grpc?: Omit<GrpcTransportOptions, "baseUrl" | "defaultTimeoutMs"> | undefined;
}

/**
 * The most that the calls of a connection may hold in memory, in megabytes. Node's own bound of 10 refuses further calls while two or three long
 * requests are under way.
 */
const maxSessionMemory = 1024;

/** Throws for options that cannot be right. Makes no connection yet. */
export function createTransport(options: GrpcOptions): Transport {
  const { baseUrl, grpc } = options;
  const nodeOptions = { maxSessionMemory, ...grpc?.nodeOptions };
  return wrapTransport(createGrpcTransport({ ...grpc, nodeOptions, baseUrl }), options);
}
