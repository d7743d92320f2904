/**
 * The REST door: one HTTP request → one call; its answer → JSON, server-sent events, or bytes.
 *
 * It translates and decides nothing: from the admission on, a call goes the same way as one over gRPC (`serve.ts`).
 */
import { Family } from "../../../gen/modelgateway/v1/access_pb.ts";
import type { Admission, Peer } from "../../call/call.ts";
import type { HttpAnswer } from "../../http1/server/index.ts";
import { CallerAbort } from "../../runtime/caller-abort.ts";
import type { MaybePromise } from "../../runtime/maybe-promise.ts";
import type { Wire } from "../../wire/wire.ts";
import { type BodyLimits, discard, type HttpRequest, headerText } from "../body/body.ts";
import type { BodyShare } from "../body/body-budget.ts";
import type { Inflate } from "../body/inflate.ts";
import {
  type Door,
  type DoorArrival,
  type Exchange,
  type ReadCall,
  type StreamAnswer,
  serve,
  type UnaryAnswer,
} from "../serve.ts";
import { type Outlet, writeBytes, writeRefusal, writeStream, writeUnary } from "./answers.ts";
import { firstMethod, readRequest } from "./read-request.ts";
import type { Route } from "./routes.ts";

export interface RestOptions extends Door {
  readonly body: BodyLimits;
  readonly inflate: Inflate;
  /** Silence on a stream after which a keep-alive is sent, in milliseconds. */
  readonly keepAliveMs: number;
  readonly peerOf: (req: HttpRequest) => Peer;
}

/** Visit is a request for a route, with the values of the variables in its path. */
export interface Visit {
  readonly id: string;
  /** The headers of every answer to it. Admission adds more. */
  readonly head: Record<string, string>;
  readonly route: Route;
  readonly variables: Readonly<Record<string, string>>;
}

/** RestDoor serves one request. What it throws, now or later, is a fault in writing the refusal. */
export type RestDoor = (req: HttpRequest, res: HttpAnswer, visit: Visit) => MaybePromise<void>;

export function createRestDoor(options: RestOptions): RestDoor {
  return (req, res, visit) => serve(options, new RestExchange(req, res, visit, options));
}

/** A class, because every call has one. */
class RestExchange implements Exchange {
  readonly arrival: DoorArrival;
  readonly #req: HttpRequest;
  readonly #visit: Visit;
  readonly #options: RestOptions;
  readonly #outlet: Outlet;
  readonly #abort = new CallerAbort();

  constructor(req: HttpRequest, res: HttpAnswer, visit: Visit, options: RestOptions) {
    const { id, route, head } = visit;
    const header = (name: string) => headerText(req, name);
    this.#req = req;
    this.#visit = visit;
    this.#options = options;
    this.#outlet = { res, id, family: familyOf(route, header), head };
    const sameHeaders = "sameHeaders" in req ? req.sameHeaders : undefined;
    const peer = options.peerOf(req);
    this.arrival = { id, method: firstMethod(route), header, sameHeaders, peer, signal: this.#abort };
    res.on("close", () => {
      // After the last write a close is no abort: what the upstream still sends may come to its end.
      if (!res.writableEnded) this.#abort.abort();
    });
  }

  hasDisconnected(): boolean {
    return this.#abort.aborted;
  }

  read({ headers }: Admission, share: BodyShare): MaybePromise<ReadCall> {
    const { body: limits, inflate } = this.#options;
    Object.assign(this.#visit.head, headers);
    return readRequest(this.#req, this.#visit, { limits, share, inflate, signal: this.#abort });
  }

  writeUnary(answer: UnaryAnswer): MaybePromise<void> {
    return writeUnary(this.#outlet, answer, this.#visit.route.envelope);
  }

  writeStream(answering: MaybePromise<StreamAnswer>, request: Wire): Promise<void> {
    const { bodyField } = this.#visit.route;
    return bodyField !== "" && !asksForEvents(request)
      ? writeBytes(this.#outlet, answering, bodyField, this.#abort)
      : writeStream(this.#outlet, answering, this.#options.keepAliveMs, this.#abort);
  }

  refuse(error: unknown): void {
    writeRefusal(this.#outlet, error);
  }

  discard(): void {
    discard(this.#req, this.#options.body.timeoutMs);
  }
}

function familyOf({ family, eitherFamily }: Route, header: (name: string) => string | undefined): Family {
  return eitherFamily && header("anthropic-version") ? Family.ANTHROPIC : family;
}

/** asksForEvents reports whether a caller of a route that answers with bytes asks for events instead. */
function asksForEvents(request: Wire): boolean {
  const canAsk = request.desc.fields.some((field) => field.name === "stream_format");
  return canAsk && request.outline().stream_format === "sse";
}
