/** The order of the list of keys. */
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { ApiKey } from "../../../../gen/modelgateway/v1/keys_pb.ts";
import { keyStates, stateOf } from "./key-state.ts";

export const orderNames = ["created", "name", "owner", "status", "spent", "used", "expires"] as const;

export interface KeyOrder {
  readonly by: (typeof orderNames)[number];
  readonly isDescending: boolean;
}

/** newestFirst is the order until the reader chooses another. */
export const newestFirst: KeyOrder = { by: "created", isDescending: true };

/** turned returns the order after a click on a column's head: names begin with A, all others with the most. */
export function turned({ by, isDescending }: KeyOrder, clicked: KeyOrder["by"]): KeyOrder {
  return by === clicked
    ? { by, isDescending: !isDescending }
    : {
        by: clicked,
        isDescending: clicked !== "name" && clicked !== "owner" && clicked !== "status" && clicked !== "expires",
      };
}

/** inOrder returns the keys in the order; keys that are alike in it, newest first. */
export function inOrder(keys: readonly ApiKey[], { by, isDescending }: KeyOrder, now: number): readonly ApiKey[] {
  const direction = isDescending ? -1 : 1;
  const names = new Intl.Collator(undefined, { numeric: true });
  const compare = (one: ApiKey, other: ApiKey) => {
    if (by === "name") return names.compare(one.name, other.name);
    // Keys of nobody come last.
    if (by === "owner") return names.compare(one.owner ?? "\uffff", other.owner ?? "\uffff");
    const [a, b] = [rankOf(one, by, now), rankOf(other, by, now)];
    return a < b ? -1 : a > b ? 1 : 0;
  };
  return [...keys].sort((one, other) => direction * compare(one, other) || (one.id < other.id ? 1 : -1));
}

function rankOf(key: ApiKey, by: Exclude<KeyOrder["by"], "name" | "owner">, now: number): number | bigint {
  const at = (moment: ApiKey["createdAt"], none: number) => (moment ? timestampMs(moment) : none);
  switch (by) {
    case "created":
      return at(key.createdAt, 0);
    case "used":
      return at(key.lastUsedAt, 0);
    case "expires":
      return at(key.expiresAt, Number.POSITIVE_INFINITY);
    case "spent":
      return key.spent;
    case "status":
      return keyStates.indexOf(stateOf(key, now));
  }
}
