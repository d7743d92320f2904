/** The answer of an upstream, of which the head has come, and its body, which somebody reads as it comes. */

import type { ReplyFields } from "../../http1/client/index.ts";
import { pushStream, type Take } from "../../runtime/push-stream.ts";

/** The body of an answer, which is read once. */
export interface Body {
  /** Has the body, as much at a time as has come, told to one reader, who may leave by throwing: that ends the exchange. */
  read(reader: Reader): void;
  /** Ends the exchange for a reader who has taken what it was given. It is told `noMore`. */
  leave(): void;
  /**
   * Says that what has come since then, by `performance.now()`, was no part of an answer. The exchange ends when that has lasted
   * for longer than an upstream may be silent.
   */
  lifeless(since: number): void;
}

/** An answer, of which the head has come. */
export class UpstreamReply implements Body {
  readonly status: number;
  readonly headers: ReplyFields;
  /** The body alone: a stream lasts longer than its head is needed. */
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

  /** The same body for one who asks for it. Throws a Refusal. Leaving the iteration ends the exchange. */
  get body(): AsyncIterable<readonly Buffer[]> {
    const source = this.source;
    return pushStream((take) => new Promise((resolve, reject) => source.read({ take, resolve, reject })));
  }
}

/** Who takes a body, and is told of its end. */
export interface Reader {
  readonly take: Take<readonly Buffer[]>;
  resolve(): void;
  reject(failure: unknown): void;
}
