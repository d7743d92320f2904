/** Reads golden files of translations, and gives their chunks out as an upstream's answer has them. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { ChatCompletionChunkSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import type { Frames } from "../../../src/call/call.ts";
import { Wire } from "../../../src/wire/wire.ts";

/** Returns the golden files of a translation, in the order of their names. */
export function goldensOf<G>(translation: string): readonly G[] {
  const folder = join(import.meta.dirname, "../../fixtures/translations", translation);
  return readdirSync(folder)
    .sort()
    .map((file) => JSON.parse(readFileSync(join(folder, file), "utf8")) as G);
}

export type Batches = readonly (readonly JsonObject[])[];

/** Gives out the chunks of a chat's stream by batch, and fails then where a failure is given. */
export async function* framesOf(batches: Batches, failure?: Error): Frames<typeof ChatCompletionChunkSchema> {
  for (const batch of batches) yield batch.map((chunk) => Wire.ofJson(ChatCompletionChunkSchema, chunk, true));
  if (failure) throw failure;
}
