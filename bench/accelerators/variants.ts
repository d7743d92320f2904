/** The compared variants: the gateway with all accelerators, with none, with all but one, and with only one. */
import { type AcceleratorName, acceleratorNames } from "../../src/config/shape.ts";

export interface Variant {
  readonly name: string;
  /** accelerators is the value of `ACCELERATORS` for the gateway. */
  readonly accelerators: string;
  /** loads are the loads on which the variant can differ. */
  readonly loads: readonly string[];
}

/** columns are the loads by their names in `bench/loads.ts`, with the headings of the table's columns. */
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

/** feltOn are the loads on which each accelerator can have an effect. */
export const feltOn: Readonly<Record<AcceleratorName, readonly string[]>> = {
  "http1-server": ofHttp,
  "http1-client": allLoads,
  "known-heads": ofHttp.filter((load) => !ofStreams.includes(load)),
  grpc: ["grpc-unary"],
  "quick-check": ["chat-1k", "chat-20k", "embeddings", "late-50"],
  leases: allLoads.filter((load) => !ofStreams.includes(load)),
  journal: allLoads.filter((load) => !ofStreams.includes(load)),
  "delta-template": ofStreams,
};

/** needs are the accelerators without which one has no effect. They stay on with it. */
const needs: Readonly<Partial<Record<AcceleratorName, AcceleratorName>>> = { "known-heads": "http1-server" };

export const on: Variant = { name: "all on", accelerators: acceleratorNames.join(), loads: allLoads };
export const off: Variant = { name: "all off", accelerators: "off", loads: allLoads };

/** without returns the variant with all but this accelerator. */
export function without(name: AcceleratorName): Variant {
  const others = acceleratorNames.filter((other) => other !== name);
  return { name: `without ${name}`, accelerators: others.join(), loads: feltOn[name] };
}

/** only returns the variant with only this accelerator and what it needs. */
export function only(name: AcceleratorName): Variant {
  return { name: `${name} alone`, accelerators: [name, ...neededBy(name)].join(), loads: feltOn[name] };
}

/** baseOf returns the variant that `only` is compared with. */
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
