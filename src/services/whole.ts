/** An answer of one message. */
import { create, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf";
import type { Answer } from "../call.ts";
import { Wire } from "../wire/wire.ts";

export function whole<O extends DescMessage>(desc: O, init: MessageInitShape<O>): Answer<O> {
  return { kind: "whole", body: Wire.ofMessage(desc, create(desc, init)) };
}
