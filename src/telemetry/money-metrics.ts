/** Counts what calls of models used, and what they were charged. */
import type { Registry } from "prom-client";
import type { CallRecord } from "../call/call-record.ts";
import { units } from "./quantities.ts";
import { createCounter, type Place } from "./series.ts";

/** Where what calls of one model used is counted. */
export interface MoneyPlaces {
  readonly input: Place;
  readonly cacheRead: Place;
  readonly cacheWrite: Place;
  readonly output: Place;
  readonly reasoning: Place;
  readonly characters: Place;
  readonly cost: Place;
  readonly waived: Place;
}

/** Returns those of a model. */
export function createMoneyPlaces(registry: Registry): (model: string) => MoneyPlaces {
  const tokens = createCounter({
    registry,
    name: "model_gateway_tokens_total",
    help: "Tokens that calls used, and characters that were spoken. Those of reasoning are among those of the output.",
    labelNames: ["model", "kind"],
  });
  const cost = createCounter({
    registry,
    name: "model_gateway_cost_units_total",
    help: "What was charged for calls, in units.",
    labelNames: ["model"],
  });
  const waived = createCounter({
    registry,
    name: "model_gateway_waived_units_total",
    help: "What calls should have cost beyond what was left to charge, in units.",
    labelNames: ["model"],
  });
  return (model) => ({
    input: tokens.place({ model, kind: "input" }),
    cacheRead: tokens.place({ model, kind: "cache_read" }),
    cacheWrite: tokens.place({ model, kind: "cache_write" }),
    output: tokens.place({ model, kind: "output" }),
    reasoning: tokens.place({ model, kind: "reasoning" }),
    characters: tokens.place({ model, kind: "characters" }),
    cost: cost.place({ model }),
    waived: waived.place({ model }),
  });
}

export function countMoney({ used, cost, waived = 0 }: CallRecord, places: MoneyPlaces): void {
  if (used) {
    const { input, cacheRead, cacheWrite, cacheWriteHour, output, reasoning, characters } = used;
    if (input > 0) places.input.add(input);
    if (cacheRead > 0) places.cacheRead.add(cacheRead);
    if (cacheWrite + cacheWriteHour > 0) places.cacheWrite.add(cacheWrite + cacheWriteHour);
    if (output > 0) places.output.add(output);
    if (reasoning > 0) places.reasoning.add(reasoning);
    if (characters > 0) places.characters.add(characters);
  }
  // What begins at nothing is seen to rise: Prometheus does not count what a series begins with.
  if (cost === undefined) return;
  places.cost.add(units(cost));
  places.waived.add(units(waived));
}
