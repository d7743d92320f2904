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

/** Throws for options that cannot be right. Makes no connection yet. */
export function createTransport(options: GrpcOptions): Transport {
  const { baseUrl, grpc } = options;
  return wrapTransport(createGrpcTransport({ ...grpc, baseUrl }), options);
}
