/** The tags and owners that the account's keys have. */
import { useQuery } from "@connectrpc/connect-query";
import { type ApiKey, KeyService } from "../../../../../gen/modelgateway/v1/keys_pb.ts";

export interface KnownLabels {
  /** tags are in the order of the alphabet, and so are owners. */
  readonly tags: readonly string[];
  readonly owners: readonly string[];
}

export function useKnownLabels(): KnownLabels {
  return labelsAmong(useQuery(KeyService.method.listKeys, {}).data?.keys ?? []);
}

export function labelsAmong(keys: readonly ApiKey[]): KnownLabels {
  const tags = new Set(keys.flatMap((key) => key.tags));
  const owners = new Set(keys.flatMap(({ owner }) => owner ?? []));
  const { compare } = new Intl.Collator(undefined, { numeric: true });
  return { tags: [...tags].sort(compare), owners: [...owners].sort(compare) };
}
