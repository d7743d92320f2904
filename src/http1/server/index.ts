/**
 * An HTTP/1.1 server for plain requests: POSTs with a length and nothing unusual in their heads. A connection with any other
 * request is handed over to Node's server with every byte of it. The types are those of both: Node's requests and responses
 * have what the doors use of them.
 */

export { FieldLines } from "../field-lines.ts";
export type { Fields } from "../fields.ts";
export {
  flattenHead,
  isLastAnswer,
  isPausedByServer,
  isReadByServer,
  takeConnectionListener,
  takeDataListener,
} from "../node-internals.ts";
export { createKeepAlive, type HttpAnswer, PlainAnswer } from "./answer.ts";
export { ServedConnection } from "./connection.ts";
export { IncomingBody } from "./incoming-body.ts";
export type { ServeOptions } from "./options.ts";
export type { PlainRequest } from "./request.ts";
