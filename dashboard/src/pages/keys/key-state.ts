/** How a key stands: whether it works, and for how long. */
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { ApiKey } from "../../../../gen/modelgateway/v1/keys_pb.ts";
import { words } from "../../language/language.tsx";

export const keyStates = ["active", "expiring", "expired", "disabled"] as const;

export type KeyState = (typeof keyStates)[number];

export const stateWords = words(
  { active: "Active", expiring: "Expiring soon", expired: "Expired", disabled: "Disabled" },
  { active: "正常", expiring: "即将过期", expired: "已过期", disabled: "已停用" },
);

/** From when on a key is said to expire soon. */
const soonMs = 7 * 86_400_000;

export function stateOf({ disabled, expiresAt }: ApiKey, now: number): KeyState {
  if (expiresAt && timestampMs(expiresAt) <= now) return "expired";
  if (disabled) return "disabled";
  if (expiresAt && timestampMs(expiresAt) <= now + soonMs) return "expiring";
  return "active";
}

/** Whether the key is what was searched for: by a part of its name, its masked secret or its id. */
export function matches({ name, secretMask, id }: ApiKey, search: string): boolean {
  const wanted = search.trim().toLowerCase();
  return [name, secretMask, id].some((text) => text.toLowerCase().includes(wanted));
}
