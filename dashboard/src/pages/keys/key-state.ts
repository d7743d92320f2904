/** The state of a key: whether it works, and until when. */
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { ApiKey } from "../../../../gen/modelgateway/v1/keys_pb.ts";
import { texts } from "../../language/language.tsx";

export const keyStates = ["active", "expiring", "expired", "disabled"] as const;

export type KeyState = (typeof keyStates)[number];

export const stateTexts = texts(
  { active: "Active", expiring: "Expiring soon", expired: "Expired", disabled: "Disabled" },
  { active: "正常", expiring: "即将过期", expired: "已过期", disabled: "已停用" },
);

/** soonMs is the remaining time in which a key counts as expiring soon. */
const soonMs = 7 * 86_400_000;

export function stateOf({ disabled, expiresAt }: ApiKey, now: number): KeyState {
  if (expiresAt && timestampMs(expiresAt) <= now) return "expired";
  if (disabled) return "disabled";
  if (expiresAt && timestampMs(expiresAt) <= now + soonMs) return "expiring";
  return "active";
}

/** matches returns whether the search text is part of the key's name, masked secret, id, owner or a tag. */
export function matches({ name, secretMask, id, owner = "", tags }: ApiKey, search: string): boolean {
  const wanted = search.trim().toLowerCase();
  return [name, secretMask, id, owner, ...tags].some((text) => text.toLowerCase().includes(wanted));
}
