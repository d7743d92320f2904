/**
 * Rewrites a refusal's message for the command line: options instead of fields, and the command that lists existing
 * items.
 */
import { Reason, type Refusal } from "../call/refusals.ts";

/** options are the options whose names differ from their fields. */
const options: ReadonlyMap<string, string> = new Map([
  ["models", "--model"],
  ["budgets", "--budget"],
  ["requests_per_minute", "--rpm"],
  ["tokens_per_minute", "--tpm"],
  ["model_rates", "--model-rate"],
  ["allowed_ips", "--allow-ip"],
  ["tags", "--tag"],
  ["expires_at", "--expires"],
  ["batch_id", "--batch"],
]);

/** lists are where existing items are listed, by the field that names one. */
const lists: ReadonlyMap<string, string> = new Map([
  ["account", "`model-gateway accounts list`"],
  ["batch_id", "`model-gateway codes list`"],
  ["user_id", "`model-gateway users list`"],
  ["version", "`model-gateway config versions`"],
  ["name", "`upstreams` of the configuration"],
]);

export function commandLineMessage({ message, param, reason }: Refusal): string {
  // Without a field, the message stays as it is.
  if (param === undefined) return message.replace("`Idempotency-Key`", "`--idempotency-key`");
  // An option gives the whole of a list.
  const field = param.replace(/\[.*$/, "");
  const list = lists.get(field);
  if (reason === Reason.RESOURCE_NOT_FOUND && list !== undefined) {
    return message.replace(/ Check it\.$/, ` ${list} shows those that there are.`);
  }
  const option = options.get(field) ?? `--${field.replaceAll("_", "-")}`;
  return message.replace(/^Invalid (?:value|type) for '[^']*':/, `${option}:`);
}
