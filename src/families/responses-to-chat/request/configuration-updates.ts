/**
 * Items that change the settings in mid-conversation (`configuration_update`): the last word on effort and format holds.
 */
import { CreateResponseRequestSchema } from "../../../../gen/modelgateway/v1/responses_pb.ts";
import { isObject, type JsonObject, type JsonValue } from "../../../wire/json.ts";
import { Wire } from "../../../wire/wire.ts";

type CreateRequest = Wire<typeof CreateResponseRequestSchema>;

/** withConfiguration returns the request with the settings that hold at its end; the same request where no item changes them. */
export function withConfiguration(request: CreateRequest): CreateRequest {
  const { input } = request.outline();
  if (!Array.isArray(input) || !input.some(isUpdate)) return request;
  const json = request.json();
  const updates = (json.input as JsonValue[]).filter(isUpdate);
  const settings = (key: "reasoning" | "text") => {
    const all = [json[key], ...updates.map((update) => update[key])].filter((one) => isObject(one as JsonValue));
    return all.length > 0 ? { [key]: Object.assign({}, ...all) as JsonObject } : {};
  };
  return Wire.ofJson(CreateResponseRequestSchema, { ...json, ...settings("reasoning"), ...settings("text") });
}

function isUpdate(item: JsonValue): item is JsonObject {
  return isObject(item) && item.type === "configuration_update";
}
