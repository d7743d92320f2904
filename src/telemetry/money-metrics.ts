/** Counts what model calls used, and what they were charged. */
import type { Registry } from "prom-client";
import type { CallRecord } from "../call/call-record.ts";
import { units } from "./quantities.ts";
import { type BoundSeries, createCounter } from "./series.ts";

/** MoneySeries are the series of one model's usage and charges. */
export interface MoneySeries {
  readonly input: BoundSeries;
  readonly cacheRead: BoundSeries;
  readonly cacheWrite: BoundSeries;
  readonly output: BoundSeries;
  readonly reasoning: BoundSeries;
  readonly characters: BoundSeries;
  readonly cost: BoundSeries;
  readonly waived: BoundSeries;
  readonly implausible: BoundSeries;
}

/** createMoneySeries returns a function that returns a model's series. */
export function createMoneySeries(registry: Registry): (model: string) => MoneySeries {
  const tokens = createCounter({
    registry,
    name: "model_gateway_tokens_total",
    help: "Tokens used by calls, and characters of speech input. Output tokens include reasoning tokens.",
    labelNames: ["model", "kind"],
  });
  const cost = createCounter({
    registry,
    name: "model_gateway_cost_units_total",
    help: "Charges for calls, in units.",
    labelNames: ["model"],
  });
  const waived = createCounter({
    registry,
    name: "model_gateway_waived_units_total",
    help: "Cost of calls beyond what was held for them, in units. It was not charged: the operator's loss.",
    labelNames: ["model"],
  });
  const implausible = createCounter({
    registry,
    name: "model_gateway_implausible_usage_total",
    help: "Calls whose upstream reported usage that cannot be true. They are charged for what the gateway counted.",
    labelNames: ["model"],
  });
  return (model) => ({
    input: tokens.bind({ model, kind: "input" }),
    cacheRead: tokens.bind({ model, kind: "cache_read" }),
    cacheWrite: tokens.bind({ model, kind: "cache_write" }),
    output: tokens.bind({ model, kind: "output" }),
    reasoning: tokens.bind({ model, kind: "reasoning" }),
    characters: tokens.bind({ model, kind: "characters" }),
    cost: cost.bind({ model }),
    waived: waived.bind({ model }),
    implausible: implausible.bind({ model }),
  });
}

export function countMoney({ used, cost, waived = 0, isImplausible }: CallRecord, series: MoneySeries): void {
  if (used) {
    const { input, cacheRead, cacheWrite, cacheWriteHour, output, reasoning, characters } = used;
    if (input > 0) series.input.add(input);
    if (cacheRead > 0) series.cacheRead.add(cacheRead);
    if (cacheWrite + cacheWriteHour > 0) series.cacheWrite.add(cacheWrite + cacheWriteHour);
    if (output > 0) series.output.add(output);
    if (reasoning > 0) series.reasoning.add(reasoning);
    if (characters > 0) series.characters.add(characters);
  }
  // Adding 0 creates the series, so that Prometheus sees the first charge as an increase.
  if (cost === undefined) return;
  series.cost.add(units(cost));
  series.waived.add(units(waived));
  series.implausible.add(isImplausible ? 1 : 0);
}
