/** Reads what a refused caller called the model, as far as that can be shown: never a credential that was sent in its place. */
import type { Asked } from "../../call/call.ts";
import { Reason, type Refusal } from "../../call/refusals.ts";
import { operationOf } from "./operation-of.ts";

/** nameForm is the form of the names of models and of their publishers. */
const nameForm = /^[\w.:/@+-]{1,100}$/;

/** modelNamed returns undefined where the request names no model, or cannot be read without effort. */
export function modelNamed({ method, request }: Pick<Asked, "method" | "request">, { reason }: Refusal) {
  if (operationOf(method) === undefined) return undefined;
  // It has been read as far as its model then; else a long text would be read for this alone.
  const isRead = reason === Reason.MODEL_NOT_FOUND || reason === Reason.MODEL_NOT_PERMITTED;
  if (request.isLong && !isRead) return undefined;
  try {
    const { model } = request.outline();
    return typeof model === "string" && nameForm.test(model) && !model.startsWith("sk-") ? model : undefined;
  } catch {
    return undefined;
  }
}
