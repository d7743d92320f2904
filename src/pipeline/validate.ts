/**
 * Holds a request to its contract: the JSON fits the message, and the message keeps the bounds that its
 * `buf.validate` annotations set. The one place for every door; the first fault is told, by its public path.
 */
import { type DescField, type DescMessage, type DescOneof, getOption, hasOption } from "@bufbuild/protobuf";
import type { Path } from "@bufbuild/protobuf/reflect";
import { createValidator, type Violation } from "@bufbuild/protovalidate";
import { transparent, untagged } from "../../gen/modelgateway/v1/wire_pb.ts";
import { internal, invalidValue, missingField, Reason, Refusal } from "../errors.ts";
import { Wire } from "../wire/wire.ts";

/** Throws a Refusal, or the WireFault of JSON that does not fit. */
export type Validate = (request: Wire) => void;

/** Compiles the rules of these messages at once: the first use of a rule takes milliseconds. */
export function createValidate(messages: readonly DescMessage[]): Validate {
  const validator = createValidator({ failFast: true });
  const validate: Validate = (request) => {
    const result = validator.validate(request.desc, request.message());
    if (result.kind === "error") throw internal(result.error);
    if (result.kind === "invalid") throw refusalOf(result.violations[0] as Violation);
  };
  for (const desc of messages) {
    try {
      validate(Wire.ofJson(desc, {}));
    } catch (error) {
      // An empty request may be refused; only the compiled rules were wanted.
      if (!(error instanceof Refusal) || error.reason === Reason.INTERNAL) throw error;
    }
  }
  return validate;
}

function refusalOf({ field, ruleId, message }: Violation): Refusal {
  const path = publicPath(field);
  return ruleId === "required" ? missingField(path) : invalidValue(path, message);
}

/** Writes a path through the message as the path through its public JSON. */
export function publicPath(path: Path): string {
  let text = "";
  for (const step of path) {
    if (step.kind === "list_sub") text += `[${step.index}]`;
    else if (step.kind === "map_sub") text += `.${String(step.key)}`;
    else if (step.kind !== "extension") text += publicStep(step, text === "");
  }
  return text;
}

function publicStep(step: DescField | DescOneof, first: boolean): string {
  if (step.kind === "field" && hasOption(step.parent, transparent) && getOption(step.parent, transparent)) return "";
  const union = step.kind === "field" && step.oneof && getOption(step.oneof, untagged) ? step.oneof : undefined;
  return `${first ? "" : "."}${(union ?? step).name}`;
}
