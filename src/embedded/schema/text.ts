/** Makes strings: a sample of the format, a text for the pattern, else the conversation's word cut to length. */
import type { Constraints } from "./flat.ts";
import { maxText, textMatching } from "./pattern.ts";
import type { Search } from "./schema.ts";

const samples: ReadonlyMap<string, (place: number) => string> = new Map(
  Object.entries({
    date: (place) => `2026-01-${pad(1 + (place % 28), 2)}`,
    "date-time": (place) => `2026-01-${pad(1 + (place % 28), 2)}T09:30:00Z`,
    time: (place) => `09:${pad(place % 60, 2)}:00Z`,
    duration: (place) => `P${place + 1}D`,
    email: (place) => `ada${place || ""}@example.com`,
    "idn-email": (place) => `ada${place || ""}@example.com`,
    hostname: (place) => `host${place || ""}.example.com`,
    "idn-hostname": (place) => `host${place || ""}.example.com`,
    uri: (place) => `https://example.com/${place || ""}`,
    url: (place) => `https://example.com/${place || ""}`,
    iri: (place) => `https://example.com/${place || ""}`,
    "uri-reference": (place) => `/path${place || ""}`,
    "iri-reference": (place) => `/path${place || ""}`,
    "json-pointer": (place) => `/path${place || ""}`,
    uuid: (place) => `00000000-0000-4000-8000-${pad(place, 12)}`,
    guid: (place) => `00000000-0000-4000-8000-${pad(place, 12)}`,
    ipv4: (place) => `192.0.2.${1 + (place % 254)}`,
    ipv6: (place) => `2001:db8::${1 + (place % 9999)}`,
    regex: (place) => `^a{${place + 1}}$`,
  }),
);

/** textsFor yields the strings worth trying, best first. */
export function* textsFor(constraints: Constraints, place: number, search: Search): Generator<string> {
  const sample = constraints.format === undefined ? undefined : samples.get(constraints.format);
  if (sample) yield sample(place);
  if (constraints.minLength > maxText) return;
  if (constraints.pattern !== undefined) {
    const text = textMatching(constraints.pattern, place, constraints, search);
    if (text !== undefined) yield text;
  }
  yield sized(place === 0 ? search.word : `${search.word} ${place + 1}`, constraints.minLength, constraints.maxLength);
}

/** sized cuts or pads a text. The end of a long text is kept: it distinguishes the instances. */
function sized(text: string, minLength: number, maxLength: number): string {
  const signs = Array.from(text);
  const cut = signs.length > maxLength ? signs.slice(signs.length - Math.max(0, Math.floor(maxLength))) : signs;
  return "a".repeat(Math.max(0, Math.ceil(minLength) - cut.length)) + cut.join("");
}

function pad(number: number, width: number): string {
  return `${number}`.padStart(width, "0");
}
