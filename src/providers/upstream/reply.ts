/** The reply of an upstream: its head, and a body that is read as it comes. */
import type { ReplyFields } from "../../http1/client/index.ts";
import { pushStream, type Take } from "../../runtime/push-stream.ts";

/** The body of a reply. It is read once. */
export interface Body {
  /** Reads the body: calls `reader` with as much as has come, each time. A reader that throws ends the exchange. */
  read(reader: Reader): void;
  /** Ends the exchange. The reader must not be busy; it is rejected with `stopPulling`. */
  leave(): void;
  /**
   * Reports that nothing of an answer has come since `since`, by `performance.now()`, only keep-alives. The exchange ends if that
   * has lasted longer than the idle time-out.
   */
  lifeless(since: number): void;
}

/** UpstreamReply is a reply whose head has come. */
export class UpstreamReply implements Body {
  readonly status: number;
  readonly headers: ReplyFields;
  /** The body without the head: a stream lasts longer than its head is needed. */
  readonly source: Body;

  constructor(status: number, headers: ReplyFields, body: Body) {
    this.status = status;
    this.headers = headers;
    this.source = body;
  }

  read(reader: Reader): void {
    this.source.read(reader);
  }

  leave(): void {
    this.source.leave();
  }

  lifeless(since: number): void {
    this.source.lifeless(since);
  }

  /** The body as an iterable. Iterating throws a Refusal on failure; leaving the loop ends the exchange. */
  get body(): AsyncIterable<readonly Buffer[]> {
    const source = this.source;
    return pushStream((take) => new Promise((resolve, reject) => source.read({ take, resolve, reject })));
  }
}

/** Reads a body. `resolve` or `reject` is called at its end. */
export interface Reader {
  readonly take: Take<readonly Buffer[]>;
  resolve(): void;
  reject(failure: unknown): void;
}
