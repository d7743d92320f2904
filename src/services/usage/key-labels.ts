/** Looks up the tags and owners of the keys of calls: those that the keys have now, whatever they had when the calls were made. */
import { RequestGroup, type SummarizeRequestsRequest } from "../../../gen/modelgateway/v1/usage_pb.ts";
import { invalidValue } from "../../call/refusals.ts";
import type { GroupsOfKey, SummaryFilter } from "../../storage/calls/summary.ts";
import type { CallRow } from "../../storage/columns.ts";
import type { KeyLabels, KeyStore } from "../../storage/keys.ts";
import { asked } from "../asked.ts";

type Labels = Pick<KeyStore, "labels">;

/** LabelsOf returns the labels of a key; undefined for one without. */
export type LabelsOf = (keyId: string) => KeyLabels | undefined;

/** labelsOfCalls looks up the labels of the keys of some calls. */
export async function labelsOfCalls(keys: Labels, calls: readonly Pick<CallRow, "key_id">[]): Promise<LabelsOf> {
  const ids = [...new Set(calls.map(({ key_id }) => key_id))];
  return lookUp(ids.length === 0 ? [] : await keys.labels({ ids }));
}

/** maxTagged is the most keys that calls are selected by: their ids go into a query. */
const maxTagged = 10_000;

/**
 * keysTagged returns the keys of an account, or of all, that have a tag; undefined where no tag is asked for. Throws a Refusal where there
 * are too many.
 */
export async function keysTagged(
  keys: Labels,
  tag: string | undefined,
  accountId: string | undefined,
): Promise<string[] | undefined> {
  const wanted = asked(tag?.trim());
  if (wanted === undefined) return undefined;
  const tagged = (await keys.labels({ accountId })).filter(({ tags }) => tags.includes(wanted));
  if (tagged.length <= maxTagged) return tagged.map(({ id }) => id);
  const advice = accountId === undefined ? "name `account` too" : "ask for one key, or a tag of fewer";
  throw invalidValue("filter.tag", `more than ${maxTagged} keys have it; ${advice}`);
}

/** keyedFilter adds to a filter what of a request is about the labels of keys: the keys of a tag, and groups by tag or owner. */
export async function keyedFilter<F extends SummaryFilter>(
  keys: Labels,
  request: SummarizeRequestsRequest | undefined,
  filter: F,
): Promise<F> {
  const { accountId } = filter;
  const keyIds = await keysTagged(keys, request?.filter?.tag, accountId);
  const groupBy = (await groupsOf(keys, request?.groupBy, accountId)) ?? filter.groupBy;
  return { ...filter, keyIds, groupBy };
}

async function groupsOf(
  keys: Labels,
  groupBy: RequestGroup | undefined,
  accountId: string | undefined,
): Promise<GroupsOfKey | undefined> {
  if (groupBy !== RequestGroup.TAG && groupBy !== RequestGroup.OWNER) return undefined;
  const labelsOf = lookUp(await keys.labels({ accountId }));
  if (groupBy === RequestGroup.OWNER) return (keyId) => [labelsOf(keyId)?.owner ?? ""];
  return (keyId) => {
    const tags = labelsOf(keyId)?.tags ?? [];
    return tags.length === 0 ? [""] : tags;
  };
}

function lookUp(labels: readonly KeyLabels[]): LabelsOf {
  const byId = new Map(labels.map((one) => [one.id, one]));
  return (keyId) => byId.get(keyId);
}
