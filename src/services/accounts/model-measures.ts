/**
 * MeasureModels: how reliable and how fast models were, for all accounts together.
 *
 * Calls of all models are read at once, however many ask, and kept for a while: what accounts ask for makes no more work than one of them.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type AccountService,
  MeasureModelsResponseSchema,
  type ModelMeasuresSchema,
} from "../../../gen/modelgateway/v1/accounts_pb.ts";
import type { ServiceImplementation } from "../../call/call.ts";
import { dayMs, hourMs } from "../../runtime/time/durations.ts";
import type { AttemptMeasures, Measures } from "../../storage/calls/attempt-measures.ts";
import type { RequestStore } from "../../storage/calls/requests.ts";
import type { Catalog } from "../../targets/catalog.ts";
import { asked } from "../asked.ts";
import { timesMessage } from "../usage/summary-message.ts";
import { whole } from "../whole.ts";

export interface ModelMeasuresParts {
  readonly requests: Pick<RequestStore, "measureAttempts">;
  readonly catalog: Catalog;
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
}

/** The most calls that are read. */
const mostCalls = 200_000;
/** fewest is how many calls a measure has at least: of fewer, it would tell what a single account does. */
const fewest = 20;
/** From so many calls on, a share is told in thousandths. */
const many = 1000;

export function createMeasureModels(
  parts: ModelMeasuresParts,
): ServiceImplementation<typeof AccountService>["measureModels"] {
  const { catalog } = parts;
  const measure = createKeptMeasures(parts);
  return async ({ request }) => {
    const { model, days = 1 } = request.message();
    const named = asked(model);
    const id = named === undefined ? undefined : catalog.get(named).id;
    const { groups, sums, completeFrom = 0 } = await measure(days);
    const byModel = new Map(groups.filter(isTold).map((group) => [group.group, group]));
    const ids = id === undefined ? catalog.list().map((one) => one.id) : [id];
    return whole(MeasureModelsResponseSchema, {
      models: ids.flatMap((one) => byModel.get(one) ?? []).map(measuresMessage),
      sums: sums
        .filter((sum) => sum.group === id && sum.beginsAt >= completeFrom && isTold(sum))
        .map((sum) => ({ ...measuresMessage(sum), beginsAt: timestampFromMs(sum.beginsAt) })),
    });
  };
}

/** createKeptMeasures returns what measures the models of the last days. One reading at a time serves all who ask meanwhile. */
function createKeptMeasures({ requests, clock }: ModelMeasuresParts): (days: number) => Promise<Measures> {
  const kept = new Map<number, { readonly at: number; readonly measures: Promise<Measures> }>();
  return (days) => {
    const now = clock();
    const last = kept.get(days);
    if (last && now - last.at < (days === 1 ? 60_000 : 600_000)) return last.measures;
    const bucketMs = days === 1 ? hourMs : dayMs;
    const from = Math.floor(now / bucketMs) * bucketMs - ((days * dayMs) / bucketMs - 1) * bucketMs;
    const filter = { from, to: now, bucketMs, upstream: undefined, model: undefined } as const;
    const limits = { calls: mostCalls, groups: Number.POSITIVE_INFINITY };
    const measures = requests.measureAttempts({ ...filter, groupBy: "model", of: "calls" }, limits);
    kept.set(days, { at: now, measures });
    // A reading that failed is tried again by the next caller.
    measures.catch(() => kept.delete(days));
    return measures;
  };
}

function isTold({ attempts }: AttemptMeasures): boolean {
  return attempts >= fewest;
}

function measuresMessage(of: AttemptMeasures): MessageInitShape<typeof ModelMeasuresSchema> {
  const { group, attempts, failures, tokensPerSecond } = of;
  const steps = attempts < many ? 100 : 1000;
  return {
    model: group,
    answered: Math.floor(((attempts - failures) * steps) / attempts) / steps,
    ...timesMessage(of),
    ...(tokensPerSecond === undefined ? {} : { tokensPerSecondP50: tokensPerSecond }),
  };
}
