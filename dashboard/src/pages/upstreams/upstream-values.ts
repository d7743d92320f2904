/** The values of an upstream's form, and the entry of the configuration that they are. */
import {
  booleanOf,
  choiceOf,
  type JsonObject,
  type JsonValue,
  nonEmpty,
  numberOf,
  objectAt,
  textAt,
  textsAt,
  withValues,
  wordsOf,
} from "../../configuration/document.ts";

/** KeyValue is a credential: `mask` stands for the one that is stored, and `text` is another in its place. */
export interface KeyValue {
  readonly mask: string;
  readonly text: string;
}

export const newKey: KeyValue = { mask: "", text: "" };

/** Pair is a header, or a part of the query. */
export interface Pair {
  readonly name: string;
  readonly value: string;
}

export interface UpstreamValues {
  readonly name: string;
  readonly kind: string;
  readonly baseUrl: string;
  readonly vendor: string;
  readonly keys: readonly KeyValue[];
  readonly credential: string;
  readonly headers: readonly Pair[];
  readonly query: readonly Pair[];
  /** discover is `yes`, `no`, or empty for what suits the upstream. */
  readonly discover: string;
  readonly regional: boolean;
  readonly connectSeconds: string;
  readonly firstByteSeconds: string;
  readonly idleSeconds: string;
  readonly totalSeconds: string;
  readonly maxConcurrent: string;
  readonly maxQueued: string;
  readonly maxWaitSeconds: string;
  /** ownPlaces is whether the places are not shared with other gateways. */
  readonly ownPlaces: boolean;
  readonly checkPath: string;
  readonly checkSeconds: string;
  readonly checkFailures: string;
  /** profile is JSON; empty for that of the vendor. */
  readonly profile: string;
}

export const newUpstream: UpstreamValues = {
  ...{ name: "", kind: "openai", baseUrl: "", vendor: "", keys: [newKey], credential: "", headers: [], query: [] },
  ...{ discover: "", regional: false },
  ...{ connectSeconds: "", firstByteSeconds: "", idleSeconds: "", totalSeconds: "" },
  ...{ maxConcurrent: "", maxQueued: "", maxWaitSeconds: "", ownPlaces: false },
  ...{ checkPath: "", checkSeconds: "", checkFailures: "", profile: "" },
};

/** valuesOf reads an entry. */
export function valuesOf(entry: JsonObject): UpstreamValues {
  const [timeouts, queue, check] = ["timeouts", "queue", "health_check"].map((key) => objectAt(entry, key));
  const keys = entry.api_key === undefined ? textsAt(entry, "api_keys") : [textAt(entry, "api_key")];
  return {
    name: textAt(entry, "name"),
    kind: textAt(entry, "kind") || "openai",
    baseUrl: textAt(entry, "base_url"),
    vendor: textAt(entry, "vendor"),
    keys: keys.length > 0 ? keys.map((mask) => ({ mask, text: "" })) : [newKey],
    credential: textAt(entry, "credential"),
    headers: pairsOf(objectAt(entry, "headers")),
    query: pairsOf(objectAt(entry, "query")),
    discover: choiceOf(entry.discover),
    regional: entry.regional === true,
    connectSeconds: textAt(timeouts, "connect_seconds"),
    firstByteSeconds: textAt(timeouts, "first_byte_seconds"),
    idleSeconds: textAt(timeouts, "idle_seconds"),
    totalSeconds: textAt(timeouts, "total_seconds"),
    maxConcurrent: textAt(queue, "max_concurrent"),
    maxQueued: textAt(queue, "max_queued"),
    maxWaitSeconds: textAt(queue, "max_wait_seconds"),
    ownPlaces: queue?.shared === false,
    checkPath: textAt(check, "path"),
    checkSeconds: textAt(check, "interval_seconds"),
    checkFailures: textAt(check, "failures"),
    profile: entry.profile === undefined ? "" : JSON.stringify(entry.profile, null, 2),
  };
}

/** upstreamEntry returns the entry; what the form does not know is as in `before`. Throws a SyntaxError if the profile is no JSON. */
export function upstreamEntry(values: UpstreamValues, before: JsonObject = {}): JsonObject {
  const keys = values.keys.map(({ mask, text }) => text.trim() || mask).filter((key) => key !== "");
  const queue = {
    max_concurrent: numberOf(values.maxConcurrent),
    max_queued: numberOf(values.maxQueued),
    max_wait_seconds: numberOf(values.maxWaitSeconds),
    shared: values.ownPlaces && values.maxConcurrent.trim() !== "" ? false : undefined,
  };
  const check = {
    path: wordsOf(values.checkPath),
    interval_seconds: numberOf(values.checkSeconds),
    failures: numberOf(values.checkFailures),
  };
  return withValues(before, {
    name: values.name.trim(),
    kind: values.kind,
    base_url: values.baseUrl.trim(),
    vendor: wordsOf(values.vendor),
    api_key: keys.length === 1 ? keys[0] : undefined,
    api_keys: keys.length > 1 ? keys : undefined,
    credential: wordsOf(values.credential),
    headers: objectOf(values.headers),
    query: objectOf(values.query),
    discover: booleanOf(values.discover),
    regional: values.regional || undefined,
    timeouts: nonEmpty(
      withValues(
        {},
        {
          connect_seconds: numberOf(values.connectSeconds),
          first_byte_seconds: numberOf(values.firstByteSeconds),
          idle_seconds: numberOf(values.idleSeconds),
          total_seconds: numberOf(values.totalSeconds),
        },
      ),
    ),
    queue: nonEmpty(withValues({}, queue)),
    health_check: nonEmpty(withValues({}, check)),
    profile: values.profile.trim() === "" ? undefined : (JSON.parse(values.profile) as JsonValue),
  });
}

function pairsOf(object: JsonObject): readonly Pair[] {
  return Object.entries(object).map(([name, value]) => ({ name, value: String(value) }));
}

function objectOf(pairs: readonly Pair[]): JsonObject | undefined {
  const written = pairs.filter(({ name }) => name.trim() !== "");
  return nonEmpty(Object.fromEntries(written.map(({ name, value }) => [name.trim(), value])));
}

/** isJson tells whether the text is empty or JSON. */
export function isJson(text: string): boolean {
  if (text.trim() === "") return true;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** fieldsByPath are the fields of the form by the places of faults below an upstream. */
const fieldsByPath = {
  name: "name",
  kind: "kind",
  base_url: "baseUrl",
  vendor: "vendor",
  api_key: "keys",
  api_keys: "keys",
  credential: "credential",
  discover: "discover",
  "timeouts.connect_seconds": "connectSeconds",
  "timeouts.first_byte_seconds": "firstByteSeconds",
  "timeouts.idle_seconds": "idleSeconds",
  "timeouts.total_seconds": "totalSeconds",
  "queue.max_concurrent": "maxConcurrent",
  "queue.max_queued": "maxQueued",
  "queue.max_wait_seconds": "maxWaitSeconds",
  "health_check.path": "checkPath",
  "health_check.interval_seconds": "checkSeconds",
  "health_check.failures": "checkFailures",
  profile: "profile",
} as const satisfies Readonly<Record<string, keyof UpstreamValues>>;

/** fieldFaults returns the messages of faults by field; `faultOf` finds the fault at a place. */
export function fieldFaults(faultOf: (path: string) => string | undefined): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fieldsByPath).flatMap(([path, field]) => {
      const message = faultOf(path);
      return message === undefined ? [] : [[field, message] as const];
    }),
  );
}
