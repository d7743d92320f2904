/**
 * OpenBlock is a block of a streamed message between its start and its stop; Progress is the state that the blocks of
 * one message share.
 */
import type { MessageDelta } from "../../../../gen/modelgateway/v1/messages_pb.ts";
import type { JsonObject } from "../../../wire/json.ts";

/** OpenBlock translates the events of one block into deltas of a chat message; undefined where an event adds nothing. */
export interface OpenBlock {
  /** The delta of the block's start. */
  readonly first: JsonObject | undefined;
  next(delta: MessageDelta): JsonObject | undefined;
  stop(): JsonObject | undefined;
}

export interface Progress {
  /** Length of the content so far, in UTF-16 units: annotations give their place by it. */
  length: number;
  /** Number of tool calls so far. */
  toolCalls: number;
  /** functionCalled is whether the one `function_call` of the oldest form was made. */
  functionCalled: boolean;
  /** answered is whether the tool that stands for the answer was called. */
  answered: boolean;
}
