/** Writes the audit log of the furnished demo: what its operator and its users did, when they did it. */
import { newId } from "../../runtime/ids.ts";
import type { Storage } from "../../storage/storage.ts";

/** Actor is a user of the dashboard. */
export interface Actor {
  readonly id: string;
  readonly email: string;
}

export interface PastEvent {
  /** action is the RPC, such as `KeyService.CreateKey`. */
  readonly action: string;
  readonly accountId: string;
  /** user is who did it. Unset: the operator did, by the operator key. */
  readonly user?: Actor | undefined;
  /** subject is the id of what it was done to; default: the account's. */
  readonly subject?: string;
  readonly details: Readonly<Record<string, unknown>>;
  /** at is in milliseconds since 1970. */
  readonly at: number;
}

const operatorAddress = "192.0.2.4";

/** recordEvent writes one event. A user is always at the same address of the documentation's network. */
export async function recordEvent({ auditEvents }: Pick<Storage, "auditEvents">, event: PastEvent): Promise<void> {
  const { action, accountId, user, subject = accountId, details, at } = event;
  const actor =
    user === undefined
      ? { actor_kind: "operator_key", actor_id: "", address: operatorAddress }
      : { actor_kind: "user", actor_id: user.id, address: `192.0.2.${addressOf(user.email)}` };
  await auditEvents.insert({
    ...{ id: newId("act", at), created_at: at, action, ...actor, account_id: accountId },
    ...{ subject, details: JSON.stringify(details), refused: "" },
  });
}

function addressOf(email: string): number {
  return 16 + ([...email].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 9973, 7) % 200);
}
