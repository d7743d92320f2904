/** What is compared: the gateway with all accelerators, with none, with all but one, and with one alone. */
import { type AcceleratorName, acceleratorNames } from "../../src/config/shape.ts";

export interface Variant {
  readonly name: string;
  /** The value of `ACCELERATORS` that its gateway is started with. */
  readonly accelerators: string;
  /** The loads that it is measured on: those on which it can differ. */
  readonly loads: readonly string[];
}

/** The loads, by the names that `bench/loads.ts` has for them, as the table's columns. */
export const columns: Readonly<Record<string, string>> = {
  "chat-1k": "chat 1 kB",
  "chat-20k": "chat 20 kB",
  embeddings: "embeddings",
  "late-50": "50 ms upstream, 1,000 callers",
  "paced-100": "streams",
  "messages-paced": "translated streams",
  "grpc-unary": "gRPC",
};

const allLoads = Object.keys(columns);
const ofHttp = allLoads.filter((load) => load !== "grpc-unary");
const ofStreams = ["paced-100", "messages-paced"];

/** On which loads each can be felt at all. */
export const feltOn: Readonly<Record<AcceleratorName, readonly string[]>> = {
  "http1-server": ofHttp,
  "http1-client": allLoads,
  "known-heads": ofHttp.filter((load) => !ofStreams.includes(load)),
  grpc: ["grpc-unary"],
  "quick-check": ["chat-1k", "chat-20k", "embeddings", "late-50"],
  leases: allLoads.filter((load) => !ofStreams.includes(load)),
  "delta-template": ofStreams,
};

/** What one needs to be of use at all: it is left on where that one is the last. */
const needs: Readonly<Partial<Record<AcceleratorName, AcceleratorName>>> = { "known-heads": "http1-server" };

export const on: Variant = { name: "all on", accelerators: acceleratorNames.join(), loads: allLoads };
export const off: Variant = { name: "all off", accelerators: "off", loads: allLoads };

/** All but this one. */
export function without(name: AcceleratorName): Variant {
  const others = acceleratorNames.filter((other) => other !== name);
  return { name: `without ${name}`, accelerators: others.join(), loads: feltOn[name] };
}

/** This one alone, and what it needs. */
export function only(name: AcceleratorName): Variant {
  return { name: `${name} alone`, accelerators: [name, ...neededBy(name)].join(), loads: feltOn[name] };
}

/** What the gateway with this one alone is compared with. */
export function baseOf(name: AcceleratorName): Variant {
  const [needed] = neededBy(name);
  return needed ? only(needed) : off;
}

function neededBy(name: AcceleratorName): readonly AcceleratorName[] {
  const needed = needs[name];
  return needed ? [needed] : [];
}

export const variants: readonly Variant[] = [
  on,
  off,
  ...acceleratorNames.flatMap((name) => [without(name), only(name)]),
];
