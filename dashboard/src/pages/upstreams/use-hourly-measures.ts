/** The measures of the last 24 hours, hour by hour, of each upstream or each model. */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { useQuery } from "@connectrpc/connect-query";
import { keepPreviousData } from "@tanstack/react-query";
import { useState } from "react";
import { AttemptGroup, type AttemptMeasures } from "../../../../gen/modelgateway/v1/measures_pb.ts";
import { OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { type Buckets, bucketsOf, spans } from "../../charts/span.ts";

const groups = { upstream: AttemptGroup.UPSTREAM, model: AttemptGroup.MODEL } as const;

interface Hourly {
  readonly buckets: Buckets;
  /** sumsOf returns a group's hours that had attempts. */
  readonly sumsOf: (group: string) => readonly AttemptMeasures[];
  readonly totalOf: (group: string) => AttemptMeasures | undefined;
}

export function useHourlyMeasures({ groupBy }: { readonly groupBy: keyof typeof groups }): Hourly {
  const [now] = useState(Date.now);
  const begins = bucketsOf(spans.day, now);
  const { bucket } = spans.day;
  const request = { bucket, from: timestampFromMs(begins[0] ?? now), groupBy: groups[groupBy] };
  const { data } = useQuery(OperatorService.method.measureAttempts, request, {
    refetchInterval: 60_000,
    placeholderData: keepPreviousData,
  });
  const sums = Map.groupBy(data?.sums ?? [], ({ group }) => group);
  const totals = new Map(data?.groups.map((one) => [one.group, one]));
  return {
    buckets: { bucket, begins },
    sumsOf: (group) => sums.get(group) ?? [],
    totalOf: (group) => totals.get(group),
  };
}
