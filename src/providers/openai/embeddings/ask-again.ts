/** The further requests of an attempt at vectors: the same request with other inputs, within the time that is left of the attempt. */
import type { JsonValue } from "@bufbuild/protobuf";
import type { Attempt } from "../../contract.ts";

/** AskAgain returns the attempt with these inputs. */
export type AskAgain = (input: JsonValue) => Promise<Attempt<"embeddings">>;

/** createAskAgain is called where the attempt begins. */
export function createAskAgain(attempt: Attempt<"embeddings">): AskAgain {
  const { request, spentMs = 0 } = attempt;
  const begunAt = performance.now();
  // So that no request costs the reading of all inputs.
  let rest: typeof request | undefined;
  return async (input) => {
    rest ??= request.with({ input: "" });
    const asked = request.isLong ? await rest.rebuiltWith({ input }).writeInSlices() : rest.with({ input });
    return { ...attempt, request: asked, spentMs: spentMs + performance.now() - begunAt };
  };
}
