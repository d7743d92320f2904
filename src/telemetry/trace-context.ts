/**
 * Reads a call's trace context from its headers, and writes the headers for the next server. A malformed context is
 * ignored. Source: W3C Trace Context, level 1.
 */
import { createTraceState, isSpanContextValid, type SpanContext, TraceFlags } from "@opentelemetry/api";
import type { AnswerHeaders, Arrival } from "../call/call.ts";

/** form is version, trace, span and flags; later versions may append more. */
const form = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;

/** parentOf returns the caller's span. */
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

/** headersOf passes `tracestate` on unchanged: the gateway adds nothing to it. */
export function headersOf({ traceId, spanId, traceFlags }: SpanContext, tracestate: string | undefined): AnswerHeaders {
  const traceparent = `00-${traceId}-${spanId}-${traceFlags & TraceFlags.SAMPLED ? "01" : "00"}`;
  return tracestate === undefined ? { traceparent } : { traceparent, tracestate };
}
