/**
 * The envelope of key management: `{"statusCode","message","data"}` around answers and refusals.
 *
 * One field of an answer becomes `data`. Its other fields are put beside that, and so are the code and parameter of a refusal.
 */
import type { DescMethod } from "@bufbuild/protobuf";
import { access, Family } from "../../../gen/modelgateway/v1/access_pb.ts";
import { ReasonSchema } from "../../../gen/modelgateway/v1/errors_pb.ts";
import type { Refusal } from "../../call/refusals.ts";
import { methodOption } from "../../runtime/method-option.ts";
import type { JsonObject } from "../../wire/json.ts";

export interface Envelope {
  /** The field of the answer that becomes `data`. */
  readonly dataField: string;
  /** The message of a call that succeeds. */
  readonly message: string;
}

const ownKeys = ["statusCode", "message", "data"];

/** envelopeOf returns the envelope of an RPC's answers, or undefined where they have none. Throws if the RPC lacks an option for it. */
export function envelopeOf(method: DescMethod): Envelope | undefined {
  const { family, dataField, done, bodyField } = methodOption(method, access);
  if (family !== Family.ADMIN) return undefined;
  if (method.methodKind === "server_streaming") {
    if (bodyField === "") throw new Error(`${method} is a stream, which has no envelope, and has no \`body_field\``);
    return undefined;
  }
  const keys = method.output.fields.map((field) => field.name);
  if (!keys.includes(dataField)) throw new Error(`${method} has no field "${dataField}" for its \`data_field\``);
  if (done === "") throw new Error(`${method} does not say in \`done\` what it has done`);
  const taken = keys.find((key) => key !== dataField && ownKeys.includes(key));
  if (taken !== undefined) throw new Error(`${method} answers with a field "${taken}", which the envelope has too`);
  return { dataField, message: done };
}

export function envelopedAnswer({ dataField, message }: Envelope, answer: JsonObject): Buffer {
  const { [dataField]: data = null, ...others } = answer;
  return Buffer.from(JSON.stringify({ statusCode: 200, message, data, ...others }));
}

export function envelopedRefusal({ reason, status, message, param }: Refusal): Buffer {
  const code = ReasonSchema.value[reason]?.localName.toLowerCase() ?? null;
  return Buffer.from(JSON.stringify({ statusCode: status, message, data: null, code, param: param ?? null }));
}
