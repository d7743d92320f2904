/**
 * One HTTP call whose answer is heard piece by piece, to its trailers, and which may be left at any moment.
 *
 *   const heard = hear(gateway, { path: "/v1/messages", apiKey, body, at: (text) => … });
 *   await heard.begun;  heard.leave();  or  await heard.answer;
 */
import { type IncomingHttpHeaders, request } from "node:http";

export interface Spoken {
  readonly path: string;
  readonly apiKey: string;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Told of all that was heard, at once whenever more has come. */
  readonly onPiece?: (heard: Buffer, headers: IncomingHttpHeaders) => void;
}

export interface HeardAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly trailers: NodeJS.Dict<string>;
  readonly bytes: Buffer;
  readonly text: string;
}

export interface Hearing {
  /** Resolves with the first piece of the answer's body. */
  readonly begun: Promise<void>;
  /** Rejects where the connection breaks. */
  readonly answer: Promise<HeardAnswer>;
  /** Closes the connection. Resolves when it is closed. */
  leave(): Promise<void>;
}

export function hear({ port }: { readonly port: number }, spoken: Spoken): Hearing {
  const { path, apiKey, body, onPiece } = spoken;
  const begun = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<HeardAnswer>();
  answer.promise.catch(() => {}); // Who leaves does not wait for it.
  const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json", ...spoken.headers };
  const req = request({ host: "127.0.0.1", port, path, method: "POST", headers, agent: false });
  const closed = new Promise<void>((resolve) => req.once("close", resolve));
  req.once("error", answer.reject);
  req.once("response", (res) => {
    let bytes = Buffer.alloc(0);
    res.on("data", (piece: Buffer) => {
      bytes = Buffer.concat([bytes, piece]);
      onPiece?.(bytes, res.headers);
      begun.resolve();
    });
    res.once("error", answer.reject);
    res.once("end", () => {
      const { statusCode = 0, headers, trailers } = res;
      answer.resolve({ status: statusCode, headers, trailers, bytes, text: bytes.toString() });
    });
  });
  req.end(JSON.stringify(body));
  return {
    begun: begun.promise,
    answer: answer.promise,
    leave() {
      req.destroy();
      return closed;
    },
  };
}
