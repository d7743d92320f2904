/** A moment in the reader's time zone. The exact one is its title. */
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { useFormat } from "../language/format.ts";

interface Props {
  readonly at: Timestamp | undefined;
  /** `ago`: how far away it is; `minute`: date and time; `day`: the date. */
  readonly as?: "ago" | "minute" | "day";
  /** What stands where there is no moment. */
  readonly none?: string;
}

export function Moment({ at, as = "minute", none = "–" }: Props) {
  const format = useFormat();
  if (!at) return none;
  const text = { ago: format.relative, minute: format.moment, day: format.day }[as](at);
  return (
    <time dateTime={timestampDate(at).toISOString()} title={format.exactly(at)}>
      {text}
    </time>
  );
}
