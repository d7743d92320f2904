/** What is refused, in the words of who typed the command: options in place of fields, and a command that lists what there is. */
import { Reason, type Refusal } from "../call/refusals.ts";

/** Options that are not called as their fields are. */
const options: ReadonlyMap<string, string> = new Map([
  ["models", "--model"],
  ["expires_at", "--expires"],
  ["batch_id", "--batch"],
]);

/** Which command shows those that there are, by the field that names one. */
const lists: ReadonlyMap<string, string> = new Map([
  ["account", "accounts list"],
  ["batch_id", "codes list"],
  ["user_id", "users list"],
]);

export function typedWords({ message, param, reason }: Refusal): string {
  // Where something has no field of the command line, it is told as it is.
  if (param === undefined) return message.replace("`Idempotency-Key`", "`--idempotency-key`");
  const field = param.replace(/\[\d+\]$/, "");
  const list = lists.get(field);
  if (reason === Reason.RESOURCE_NOT_FOUND && list !== undefined) {
    return message.replace(/ Check it\.$/, ` \`model-gateway ${list}\` shows those that there are.`);
  }
  const option = options.get(field) ?? `--${field.replaceAll("_", "-")}`;
  return message.replace(/^Invalid (?:value|type) for '[^']*':/, `${option}:`);
}
