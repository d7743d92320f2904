/** The operator's RPCs for upstreams and models over time, and for all that is known of each model. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  AttemptGroup,
  type AttemptMeasuresSchema,
  DescribeModelsResponseSchema,
  MeasureAttemptsResponseSchema,
} from "../../../gen/modelgateway/v1/measures_pb.ts";
import type { OperatorService } from "../../../gen/modelgateway/v1/operator_pb.ts";
import type { ServiceImplementation } from "../../call/call.ts";
import type { AttemptMeasures } from "../../storage/calls/attempt-measures.ts";
import { asked } from "../asked.ts";
import { summaryLimits, timesMessage } from "../usage/summary-message.ts";
import { bucketedSpan, bucketMsOf } from "../usage/time-span.ts";
import { whole } from "../whole.ts";
import { describedModels, noModels } from "./described-models.ts";
import type { OperatorParts } from "./parts.ts";

type Rpcs = Pick<ServiceImplementation<typeof OperatorService>, "measureAttempts" | "describeModels">;

const groups: Readonly<Record<AttemptGroup, "upstream" | "model" | undefined>> = {
  [AttemptGroup.UNSPECIFIED]: undefined,
  [AttemptGroup.UPSTREAM]: "upstream",
  [AttemptGroup.MODEL]: "model",
};

export function operatorMeasures({ storage, models = () => noModels, clock }: OperatorParts): Rpcs {
  return {
    async measureAttempts({ request, signal }) {
      const { upstream, model, bucket, from, to, groupBy = AttemptGroup.UNSPECIFIED } = request.message();
      const bucketMs = bucketMsOf(bucket);
      const span = bucketedSpan({ from, to }, bucketMs, clock());
      const filter = { ...span, bucketMs, upstream: asked(upstream), model: asked(model), groupBy: groups[groupBy] };
      const found = await storage.requests.measureAttempts(filter, summaryLimits, signal);
      return whole(MeasureAttemptsResponseSchema, {
        total: measuresMessage(found.total),
        groups: found.groups.map(measuresMessage),
        sums: found.sums.map((sum) => ({ ...measuresMessage(sum), beginsAt: timestampFromMs(sum.beginsAt) })),
        ...(found.completeFrom === undefined ? {} : { completeFrom: timestampFromMs(found.completeFrom) }),
      });
    },
    async describeModels() {
      const known = models();
      const { dollar, markup } = known;
      const answer = { models: describedModels(known), dollar: BigInt(dollar), markup: BigInt(markup) };
      return whole(DescribeModelsResponseSchema, answer);
    },
  };
}

function measuresMessage(of: AttemptMeasures): MessageInitShape<typeof AttemptMeasuresSchema> {
  const { group, attempts, failures, tokensPerSecond } = of;
  return {
    ...{ group, attempts: BigInt(attempts), failures: BigInt(failures) },
    ...timesMessage(of),
    ...(tokensPerSecond === undefined ? {} : { tokensPerSecondP50: tokensPerSecond }),
  };
}
