/**
 * The catalogue of what a call may conflict with: a message for each reason of the contract, in English, which says what to do. Pages tell
 * the same in other languages, by the reason and its parameters.
 */
import type { ConflictReason } from "../../gen/modelgateway/v1/reasons_pb.ts";

/** ConflictWord is the name of a reason of the contract. */
export type ConflictWord = Exclude<keyof typeof ConflictReason, "UNSPECIFIED">;

/** Conflict is what a call conflicts with. */
export interface Conflict {
  readonly reason: ConflictWord;
  readonly parameters: Readonly<Record<string, string>>;
}

/** openRemedy says what to do where the stored configuration cannot be opened. */
export const openRemedy =
  "Set GATEWAY_CONFIG_KEY, GATEWAY_CONFIG_KEY_FILE or config_key_file to the key that it was sealed by; without Postgres, " +
  "put the file configuration.key that was in the data folder back there";

/** texts has the message of each reason. Its parameters are those of its comment in reasons.proto. */
const texts: Readonly<Record<ConflictWord, (of: Conflict["parameters"]) => string>> = {
  CODE_CLAIMED: () => "This redeem code was claimed before. Each is worth its amount once.",
  CREDITED_IN_FULL: ({ most, unit }) =>
    `An account is credited at most ${most} ${unit} in its life, so that its sums stay exact. Record less, or go on with a new account.`,
  REFUND_TOO_LARGE: ({ amount, most, unit }) =>
    `Cannot refund ${amount} ${unit}: ${most} ${unit} may be refunded, of what was recharged and is left. Refund less.`,
  ZONE_BOUND: () =>
    "The operator has set budgets of this account whose days, weeks or months begin by its time zone. Ask the operator to change it.",
  KEYS_FULL: ({ most }) =>
    `The account has ${most} API keys, as many as it may have. Delete one that is no longer used.`,
  ACCOUNT_NAME_TAKEN: ({ name }) => `There is an account "${name}" already. Choose another name.`,
  EMAIL_TAKEN: ({ email }) => `There is a user "${email}" already. Sign in, or choose another e-mail address.`,
  OWN_ACCOUNT: () =>
    "This is your own account, and you would be signed out for good. Have another operator suspend it.",
  LAST_OPERATOR: () => "Nobody else operates the gateway. Let another user operate it first.",
  SECOND_FACTOR_ENABLED: () => "You have a second factor already. Disable it first.",
  SECOND_FACTOR_NOT_BEGUN: () => "There is no second factor to enable. Begin with a new one.",
  RESPONSE_UNDER_WAY: ({ id }) => `The response '${id}' is still being made. Cancel it first.`,
  CONNECTION_BUSY: () => "A response is under way on this connection. Wait for its end, or open another connection.",
  NOT_SERVING: () => "Upstreams are tested by a gateway that serves. Ask one.",
  CONFIGURATION_CHANGED: ({ version, paths }) =>
    `The configuration was changed meanwhile, to version ${version}: ${paths}. Look at it, and make the change on that version.`,
  CONFIGURATION_LOCKED: () => `The stored configuration cannot be opened. ${openRemedy}.`,
  SEAL_KEY_MISSING: () =>
    "There is no key to seal credentials by: set GATEWAY_CONFIG_KEY on every node to the same 32 bytes, in hex or base64 " +
    "(`openssl rand -hex 32` makes them), or GATEWAY_CONFIG_KEY_FILE to the path of a file with them, and start anew.",
  SEAL_KEY_MALFORMED: ({ where }) =>
    `${where}: expected 32 bytes in hex or base64, or several such with commas between them.`,
  SEAL_KEY_UNREADABLE: ({ path, code }) =>
    `The key to seal credentials by cannot be read from ${path} (${code}). Let the gateway read it.`,
  SEAL_KEY_UNWRITABLE: ({ path, code }) =>
    `The key to seal credentials by cannot be written to ${path} (${code}). Let the gateway write there.`,
};

/** conflictMessage returns the message in English. */
export function conflictMessage({ reason, parameters }: Conflict): string {
  return texts[reason](parameters);
}
