/**
 * Reads where a call belongs among traces from its headers, and writes the headers that tell the next. What is malformed is
 * as if it were not there. Source: W3C Trace Context, level 1.
 */
import { createTraceState, isSpanContextValid, type SpanContext, TraceFlags } from "@opentelemetry/api";
import type { AnswerHeaders, Arrival } from "../call/call.ts";

/** Version, trace, span, flags; later versions may have more behind them. */
const form = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;

/** Returns the span that the caller made the call in. */
export function parentOf(header: Arrival["header"]): SpanContext | undefined {
  const written = header("traceparent");
  if (written === undefined) return undefined;
  const [, version, traceId = "", spanId = "", flags = "", more] = form.exec(written.trim()) ?? [];
  if (version === undefined || version === "ff" || (version === "00" && more !== undefined)) return undefined;
  const traceFlags = Number.parseInt(flags, 16) & TraceFlags.SAMPLED;
  const tracestate = header("tracestate");
  const state = tracestate === undefined ? {} : { traceState: createTraceState(tracestate) };
  const context = { traceId, spanId, traceFlags, isRemote: true, ...state };
  return isSpanContextValid(context) ? context : undefined;
}

/** `tracestate` is handed on as it came: the gateway has nothing to add. */
export function headersOf({ traceId, spanId, traceFlags }: SpanContext, tracestate: string | undefined): AnswerHeaders {
  const traceparent = `00-${traceId}-${spanId}-${traceFlags & TraceFlags.SAMPLED ? "01" : "00"}`;
  return tracestate === undefined ? { traceparent } : { traceparent, tracestate };
}
