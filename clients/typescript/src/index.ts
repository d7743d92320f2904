/**
 * Typed clients of model-gateway, over fetch: in Node 20 or newer, and in browsers.
 *
 *   const transport = createTransport({ baseUrl: "https://gateway.example", apiKey });
 *   const inference = createClient(InferenceService, transport);
 */
export {
  create,
  fromJson,
  type JsonObject,
  type JsonValue,
  type MessageInitShape,
  type MessageShape,
  toJson,
} from "@bufbuild/protobuf";
export { Code, ConnectError, type Transport } from "@connectrpc/connect";
export { Reason } from "../gen/modelgateway/v1/errors_pb.ts";
export { type CallOptions, createClient, type GatewayClient } from "./client.ts";
export type { ApiKey, GatewayOptions, RetryOptions } from "./options.ts";
export { type Refusal, refusalOf } from "./refusal.ts";
export { createTransport, type FetchOptions } from "./transport.ts";
