/** Parses an address into a filter of calls. Invalid values are ignored. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Timestamp, timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { RequestFilterSchema } from "../../../gen/modelgateway/v1/usage_pb.ts";
import type { RequestSearch } from "../search.ts";
import { midnight } from "./day-spans.ts";
import { type OutcomeWord, outcomes } from "./outcome.tsx";

type Init = Exclude<MessageInitShape<typeof RequestFilterSchema>, { $typeName: string }>;
type Filter = Omit<Init, "from" | "to"> & { readonly from?: Timestamp; readonly to?: Timestamp };

export function filterOf({ key, model, upstream, tag, outcome, from, to }: RequestSearch): Filter {
  return {
    ...(key === undefined ? {} : { keyId: key }),
    ...(model === undefined ? {} : { model }),
    ...(upstream === undefined ? {} : { upstream }),
    ...(tag === undefined ? {} : { tag }),
    ...(outcome !== undefined && isOutcome(outcome) ? { outcomes: [outcomes[outcome]] } : {}),
    ...momentsOf({ from, to }),
  };
}

/** momentsOf returns when the first of two days begins and the last ends. */
export function momentsOf({ from, to }: { from: string | undefined; to: string | undefined }): {
  from?: Timestamp;
  to?: Timestamp;
} {
  const begins = from === undefined ? undefined : midnight(from, 0);
  const ends = to === undefined ? undefined : midnight(to, 1);
  return {
    ...(begins ? { from: timestampFromDate(begins) } : {}),
    ...(ends ? { to: timestampFromDate(ends) } : {}),
  };
}

export function isOutcome(word: string): word is OutcomeWord {
  return Object.hasOwn(outcomes, word);
}
