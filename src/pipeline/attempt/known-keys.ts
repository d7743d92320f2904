/**
 * Runs an attempt at a chat server, and runs it once more without the keys that OpenAI's API does not have where the server refuses the
 * request for one of them. Agents send such keys to every server, and of a server that nobody knows it cannot be said which it takes.
 *
 * The next calls with the same API key leave these keys out at once, until FurtherKeys forgets it. The caller sees both runs as one attempt.
 */
import { Refusal } from "../../call/refusals.ts";
import type { PlainFitters, RequestFitter } from "../../providers/contract.ts";
import { runCooperatively } from "../../runtime/cooperative.ts";
import { catchError, type MaybePromise } from "../../runtime/maybe-promise.ts";
import type { RefusedPlace } from "../../targets/further-keys.ts";
import { CallAttempt, type RunAttempt } from "./attempt.ts";
import { isRelay } from "./translate.ts";

/** inKnownKeys returns a function that runs attempts so. */
export function inKnownKeys(run: RunAttempt): RunAttempt {
  return (attempt) => {
    const { candidate, part } = attempt;
    const plain = candidate.operation === "chat" ? candidate.fitting?.plain : undefined;
    return plain ? runFrom(candidate.state.furtherKeys.refused(part.caller.keyId), attempt, plain, run) : run(attempt);
  };
}

/** runFrom leaves out the keys in one place, and those in more where the server refuses what is left. */
function runFrom(
  place: RefusedPlace | undefined,
  attempt: CallAttempt,
  plain: PlainFitters,
  run: RunAttempt,
): MaybePromise<CallAttempt> {
  const { modelCall, part, candidate, signal, isHedge } = attempt;
  const fitted = place && { ...candidate, fitting: plain[place] };
  const tried = fitted ? new CallAttempt(modelCall, part, fitted, signal, isHedge) : attempt;
  if (place === "request") return run(tried);
  return catchError(
    () => run(tried),
    async (error) => {
      const wider = await refusedPlace(error, tried, plain.request);
      if (!wider || wider === place) throw error;
      const answered = await runFrom(wider, attempt, plain, run);
      candidate.state.furtherKeys.note(part.caller.keyId, wider);
      return answered;
    },
  );
}

/** How servers say that they do not know a key. */
const saysUnknown =
  /unsupported|not supported|unknown|unrecogni[sz]ed|unexpected|extra|not permitted|not allowed|forbidden|additional|cannot find|no such|invalid/i;
/** maxSaid is how much of a refusal is looked into, in characters. */
const maxSaid = 10_000;

/** refusedPlace returns where the keys stand that a refusal names, of those that are not OpenAI's; undefined where it names none. */
async function refusedPlace(
  error: unknown,
  { candidate, record, translated }: CallAttempt,
  fitter: RequestFitter,
): Promise<RefusedPlace | undefined> {
  // Without a record the gateway has refused the call, before it was sent.
  if (!record || !(error instanceof Refusal) || (error.status !== 400 && error.status !== 422)) return undefined;
  const said = `${error.message} ${error.upstream?.body.toString() ?? ""}`.slice(0, maxSaid);
  if (!saysUnknown.test(said)) return undefined;
  const words = new Set(said.split(/[^\w-]+/));
  const { request } = translated;
  const fitting = fitter.fit("chat", request, candidate.path.every(isRelay));
  const { dropped } = await runCooperatively(fitting, request.isLong);
  const named = dropped.filter((path) => words.has(lastKey(path)));
  if (named.length === 0) return undefined;
  return named.every((path) => /^(?:messages|tools)\[/.test(path)) ? "messages" : "request";
}

/** lastKey returns `extra_content` of `messages[1].tool_calls[0].extra_content`. */
function lastKey(path: string): string {
  return path.slice(path.lastIndexOf(".") + 1).replace(/\[.*$/s, "");
}
