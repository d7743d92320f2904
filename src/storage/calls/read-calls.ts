/** Reads the calls that are kept of a time, newest first, some thousand at a time: between two steps other calls get their turn. */
import { setImmediate } from "node:timers/promises";
import type { CallRow } from "../columns.ts";
import { type IdSpan, stride } from "./requests-query.ts";
import type { CallerSignal } from "./search.ts";

export interface ReadCallsOptions<R> {
  /** step returns up to `stride` calls of a span, newest first. */
  readonly step: (span: IdSpan) => Promise<readonly R[]>;
  readonly span: IdSpan;
  /** most is how many calls are read at most, about. */
  readonly most: number;
  readonly signal: CallerSignal | undefined;
  /** onCall is called with each call. */
  readonly onCall: (call: R) => void;
}

/**
 * readCalls reads the calls of a span. Where the caller disconnects meanwhile, the rest is not read. Resolves to the time since which no
 * call is missing, where not all were read because there were more than `most`; undefined otherwise.
 */
export async function readCalls<R extends Pick<CallRow, "id" | "created_at">>(
  options: ReadCallsOptions<R>,
): Promise<number | undefined> {
  const { step, span, most, signal, onCall } = options;
  for (let { below } = span, read = 0; ; await setImmediate()) {
    const rows = await step({ least: span.least, below });
    for (const row of rows) onCall(row);
    read += rows.length;
    const last = rows.at(-1);
    if (last === undefined || rows.length < stride || signal?.aborted) return undefined;
    if (read >= most) return last.created_at;
    below = last.id;
  }
}
