/** Builds an answer of one message. */
import { create, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf";
import type { Answer, AnswerHeaders } from "../call/call.ts";
import { Wire } from "../wire/wire.ts";

export function whole<O extends DescMessage>(
  desc: O,
  init: MessageInitShape<O>,
  headers: AnswerHeaders = {},
): Answer<O> {
  return { kind: "whole", body: Wire.ofMessage(desc, create(desc, init)), headers };
}
