/** What the methods of responses share. */
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
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  readonly limits: ResponseLimits;
}

export interface ResponseLimits {
  readonly keepMs: number;
  readonly maxPerAccount: number;
  /** The largest response, and the largest input, in bytes of JSON. */
  readonly maxBytes: number;
}
