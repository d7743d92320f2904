/** Parses an address into a filter of calls. Invalid values are ignored. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Timestamp, timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { RequestFilterSchema } from "../../../gen/modelgateway/v1/usage_pb.ts";
import type { RequestSearch } from "../search.ts";
import { type OutcomeWord, outcomes } from "./outcome.tsx";

type Init = Exclude<MessageInitShape<typeof RequestFilterSchema>, { $typeName: string }>;
type Filter = Omit<Init, "from" | "to"> & { readonly from?: Timestamp; readonly to?: Timestamp };

export function filterOf({ key, model, upstream, tag, outcome, from, to }: RequestSearch): Filter {
  const begins = from === undefined ? undefined : midnight(from, 0);
  const ends = to === undefined ? undefined : midnight(to, 1);
  return {
    ...(key === undefined ? {} : { keyId: key }),
    ...(model === undefined ? {} : { model }),
    ...(upstream === undefined ? {} : { upstream }),
    ...(tag === undefined ? {} : { tag }),
    ...(outcome !== undefined && isOutcome(outcome) ? { outcomes: [outcomes[outcome]] } : {}),
    ...(begins ? { from: timestampFromDate(begins) } : {}),
    ...(ends ? { to: timestampFromDate(ends) } : {}),
  };
}

export function isOutcome(word: string): word is OutcomeWord {
  return Object.hasOwn(outcomes, word);
}

/** midnight returns the beginning of a day in the reader's time zone, or of a day some days later. */
function midnight(day: string, daysLater: number): Date | undefined {
  const [, year, month, date] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(day) ?? [];
  const moment = new Date(Number(year), Number(month) - 1, Number(date) + daysLater);
  return Number.isNaN(moment.getTime()) ? undefined : moment;
}
