/**
 * RFC 3339 texts ↔ google.protobuf.Timestamp, truncated to milliseconds.
 *
 * A text must have its UTC offset. UTC with `Z` is written.
 */
import { type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt";

const form = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d+))?(?:[Zz]|([+-])([01]\d|2[0-3]):([0-5]\d))$/;

/** The range of a Timestamp, in milliseconds since 1970. */
const first = Date.parse("0001-01-01T00:00:00.000Z");
const last = Date.parse("9999-12-31T23:59:59.999Z");

/** readTimestamp returns undefined for another format, a missing offset and a day that does not exist. */
export function readTimestamp(text: string): Timestamp | undefined {
  const [, day, time, fraction = "", sign, hours = "0", minutes = "0"] = form.exec(text) ?? [];
  if (day === undefined) return undefined;
  const local = `${day}T${time}.${fraction.slice(0, 3).padEnd(3, "0")}Z`;
  const localMs = Date.parse(local);
  // `Date.parse` accepts 30 February and 24:00 and rolls them over.
  if (Number.isNaN(localMs) || new Date(localMs).toISOString() !== local) return undefined;
  const offsetMs = (Number(hours) * 60 + Number(minutes)) * 60_000;
  const ms = sign === "-" ? localMs + offsetMs : localMs - offsetMs;
  return isMoment(ms) ? timestampFromMs(ms) : undefined;
}

/** writeTimestamp returns undefined for a Timestamp out of range, which an RPC may send. */
export function writeTimestamp({ seconds, nanos }: Timestamp): string | undefined {
  const ms = Number(seconds) * 1000 + Math.floor(nanos / 1_000_000);
  return isMoment(ms) ? new Date(ms).toISOString() : undefined;
}

function isMoment(ms: number): boolean {
  return ms >= first && ms <= last;
}
