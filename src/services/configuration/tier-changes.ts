/** Finds which accounts other tiers would change: between two thresholds all accounts are alike. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { TierChangeSchema } from "../../../gen/modelgateway/v1/configuration_pb.ts";
import { type Tier, tierOf } from "../../call/tiers.ts";
import type { Account, RechargedRange } from "../../storage/accounts.ts";

/** changedRanges returns the ranges of cumulative recharges whose tier, or whose rates, differ. */
export function changedRanges(before: readonly Tier[], after: readonly Tier[]): readonly RechargedRange[] {
  const thresholds = [...new Set([...before, ...after].map(({ recharge }) => recharge))].sort((a, b) => a - b);
  return thresholds.flatMap((from, i) =>
    isSame(tierOf(before, from), tierOf(after, from)) ? [] : [{ from, below: thresholds[i + 1] }],
  );
}

function isSame(one: Tier, other: Tier): boolean {
  return (
    one.name === other.name &&
    one.requestsPerMinute === other.requestsPerMinute &&
    one.tokensPerMinute === other.tokensPerMinute
  );
}

type RechargedAccount = Pick<Account, "id" | "name" | "recharged">;

export function changeOfTiers(
  { id, name, recharged }: RechargedAccount,
  before: readonly Tier[],
  after: readonly Tier[],
): MessageInitShape<typeof TierChangeSchema> {
  const [one, other] = [tierOf(before, recharged), tierOf(after, recharged)];
  return {
    accountId: id,
    name,
    recharged: BigInt(recharged),
    before: one.name,
    after: other.name,
    requestsPerMinuteBefore: one.requestsPerMinute,
    requestsPerMinuteAfter: other.requestsPerMinute,
    ...(one.tokensPerMinute === undefined ? {} : { tokensPerMinuteBefore: one.tokensPerMinute }),
    ...(other.tokensPerMinute === undefined ? {} : { tokensPerMinuteAfter: other.tokensPerMinute }),
  };
}
