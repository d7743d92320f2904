/** The dependencies shared by the methods of responses. */
import type { CreateResponseRequestSchema } from "../../../gen/modelgateway/v1/responses_pb.ts";
import type { Call } from "../../call/call.ts";
import type { Complete } from "../../pipeline/complete/complete.ts";
import type { ResponseStore } from "../../storage/answers/responses.ts";
import type { Catalog } from "../../targets/catalog.ts";
import type { Background } from "./background.ts";

export type CreateCall = Call<typeof CreateResponseRequestSchema>;

export interface ResponsesParts {
  readonly complete: Complete;
  readonly store: ResponseStore;
  readonly background: Background;
  readonly catalog: Catalog;
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
  readonly settings: ResponseSettings;
  /** onError gets errors of storing an answer, which its caller is told of as `store: false`. */
  readonly onError: (error: unknown) => void;
}

/** ResponseSettings returns the limits of stored responses as they are now. */
export type ResponseSettings = () => { readonly responses: ResponseLimits };

export interface ResponseLimits {
  readonly keepMs: number;
  readonly maxPerAccount: number;
  /** maxBytes is the limit of a stored response, and of a stored input, in bytes of JSON. */
  readonly maxBytes: number;
}
