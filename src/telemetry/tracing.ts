/**
 * Traces every call with OpenTelemetry: a span for the call, below the caller's own if it sent one, and a child span
 * for each attempt, whose context is sent to the upstream. The caller that began a trace decides whether it is
 * sampled.
 *
 * Spans end when the call is over, with the times in its record. An upstream's failure is described by the
 * gateway's own message, and a refusal by its reason: its message may quote the caller.
 */
import { ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, type Tracer, trace } from "@opentelemetry/api";
import type { Arrival } from "../call/call.ts";
import type { AttemptRecord, CallTrace } from "../call/call-record.ts";
import type { EndedCall, Observer } from "../pipeline/observe.ts";
import {
  type Addresses,
  attemptAttributes,
  attemptDetails,
  callAttributes,
  callDetails,
  errorOf,
  spanName,
} from "./attributes.ts";
import { headersOf, parentOf } from "./trace-context.ts";

export interface TracingOptions {
  readonly tracer: Tracer;
  readonly addresses: Addresses;
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
}

export function createTracing({ tracer, addresses, clock }: TracingOptions): Observer {
  return {
    began(call) {
      call.record.trace = beginTrace(tracer, addresses, call, clock());
    },
    ended(call) {
      // A call refused at the door has no span. Only `began` sets `trace`.
      const begun = call.record.trace as OpenTrace | undefined;
      (begun ?? beginTrace(tracer, addresses, call.arrival, call.begunAt)).end(call);
    },
  };
}

interface OpenTrace extends CallTrace {
  /** end ends the call's span and those of its attempts. */
  end(call: EndedCall): void;
}

function beginTrace(tracer: Tracer, addresses: Addresses, arrival: Arrival, begunAt: number): OpenTrace {
  const { id, method, header } = arrival;
  const parent = parentOf(header);
  const tracestate = parent && header("tracestate");
  const rpc = `${method.parent.typeName}/${method.name}`;
  const attributes = { "rpc.method": rpc, "model_gateway.request_id": id };
  const around = parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT;
  const span = tracer.startSpan(rpc, { kind: SpanKind.SERVER, startTime: begunAt, attributes }, around);
  const attempts: { readonly attempt: AttemptRecord; readonly span: Span }[] = [];
  return {
    began(attempt) {
      // The embedded models run in this process.
      const kind = attempt.kind === "embedded" ? SpanKind.INTERNAL : SpanKind.CLIENT;
      const below = trace.setSpan(ROOT_CONTEXT, span);
      const begun = tracer.startSpan(attempt.model, { kind, startTime: attempt.begunAt }, below);
      attempts.push({ attempt, span: begun });
      return headersOf(begun.spanContext(), tracestate);
    },
    end(call) {
      if (!span.isRecording()) return;
      for (const [i, begun] of attempts.entries()) endAttempt(begun.span, begun.attempt, i + 1, call, addresses);
      endCall(span, call);
    },
  };
}

function endAttempt(span: Span, attempt: AttemptRecord, number: number, call: EndedCall, addresses: Addresses): void {
  const { failure, model, endedAt = call.endedAt } = attempt;
  span.updateName(spanName(call.record.operation ?? "", model));
  span.setAttributes(attemptAttributes(attempt, call, addresses));
  span.setAttributes(attemptDetails(attempt, number));
  if (failure !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: failure });
  span.end(Math.max(endedAt, attempt.begunAt));
}

function endCall(span: Span, call: EndedCall): void {
  const { record, refusal, begunAt, endedAt } = call;
  const error = errorOf(call);
  if (record.operation !== undefined) {
    span.updateName(spanName(record.operation, record.model));
    span.setAttributes(callAttributes(call));
  } else if (error !== undefined) span.setAttribute("error.type", error);
  span.setAttributes(callDetails(call));
  // A caller's mistake is not an error of the server.
  if (refusal && error !== undefined && refusal.status >= 500) {
    span.setStatus({ code: SpanStatusCode.ERROR, message: error });
  }
  span.end(Math.max(endedAt, begunAt));
}
