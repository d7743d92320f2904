/** A time in the reader's time zone. The tooltip has the exact time. */
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { useFormat } from "../language/format.ts";

interface Props {
  readonly at: Timestamp | undefined;
  /** as selects the format. `ago`: relative; `minute`: date and time; `day`: the date. */
  readonly as?: "ago" | "minute" | "day";
  /** none is shown if there is no time. */
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
