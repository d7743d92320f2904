/**
 * The tools of a response as they are told again: without the secrets that servers and hosts get. A kept response, and its input, is read by
 * every key of its account.
 */
import { isObject, type JsonObject, type JsonValue, mappedList } from "../../wire/json.ts";

/** The members of tools with secrets: of a server of tools, and of the hosts that a container may reach. */
const secrets: ReadonlySet<string> = new Set(["authorization", "headers", "domain_secrets"]);
/** The members of tools within which there may be such. Schemas of functions have whatever names they like. */
const holders: ReadonlySet<string> = new Set(["environment", "container", "network_policy"]);

/** toldTools returns the same list where no tool has secrets. */
export function toldTools(tools: JsonValue[]): JsonValue[] {
  return mappedList(tools, (tool) => (isObject(tool) ? withoutSecrets(withToldTools(tool)) : tool));
}

/** withToldTools returns what brings tools, as an item of the input or a namespace does, with these as they are told again. */
export function withToldTools(holder: JsonObject): JsonObject {
  const { tools } = holder;
  const told = Array.isArray(tools) ? toldTools(tools) : tools;
  return told === tools ? holder : { ...holder, tools: told as JsonValue };
}

function withoutSecrets(holder: JsonObject): JsonObject {
  let told = holder;
  for (const [key, value] of Object.entries(holder)) {
    const shown = holders.has(key) && isObject(value) ? withoutSecrets(value) : value;
    if (shown !== value) told = { ...told, [key]: shown };
    if (!secrets.has(key)) continue;
    const { [key]: _, ...rest } = told;
    told = rest as JsonObject;
  }
  return told;
}
