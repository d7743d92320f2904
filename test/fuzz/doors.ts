/**
 * Sends a request through each door as raw bytes, and tells whether what came back is an answer, a refusal, or an error of
 * the gateway's own, which none of them may be.
 */
import { connect } from "node:http2";

export interface RawAnswer {
  readonly status: number;
  readonly text: string;
}

/** Before a message of a stream stand a byte of flags and its length. */
export function enveloped(message: Uint8Array): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

export async function overHttp(
  url: string,
  init: { method: string; headers: Record<string, string>; body?: string | Uint8Array<ArrayBuffer> },
): Promise<RawAnswer> {
  const response = await fetch(url, { ...init, signal: AbortSignal.timeout(hangMs), redirect: "manual" });
  return { status: response.status, text: Buffer.from(await response.arrayBuffer()).toString("latin1") };
}

/** gRPC over HTTP/2 without TLS, with a session of its own. */
export function overGrpc(root: string, path: string, headers: Record<string, string>, body: Uint8Array) {
  return new Promise<RawAnswer>((resolve, reject) => {
    const session = connect(root);
    const late = setTimeout(() => session.destroy(new Error(`no answer in ${hangMs} ms`)), hangMs);
    session.once("error", reject).once("close", () => clearTimeout(late));
    const stream = session.request({ ":method": "POST", ":path": path, te: "trailers", ...headers });
    let status = 0;
    let told = "";
    const tell = (fields: Readonly<Record<string, unknown>>) => {
      if (fields["grpc-status"] !== undefined) told = `grpc-status: ${fields["grpc-status"]} ${fields["grpc-message"]}`;
    };
    stream.on("response", (fields) => {
      status = Number(fields[":status"]);
      tell(fields);
    });
    stream.on("trailers", tell).once("error", reject);
    stream.resume().once("close", () => {
      session.close();
      resolve({ status, text: told });
    });
    stream.end(body);
  });
}

/** Counting tokens begins with loading the vocabulary, which takes seconds on a busy machine. */
const hangMs = 30_000;

/** Says what is wrong with an answer; undefined where nothing is. */
export function faultIn({ status, text }: RawAnswer): string | undefined {
  if (status === 500) return `status 500: ${text.slice(0, 300)}`;
  if (!(status >= 200 && status <= 599)) return `status ${status}`;
  if (text.includes("The gateway had an error while handling this request"))
    return `an error of its own: ${text.slice(-300)}`;
  const code = /"code":"(internal|unknown)"[^}]*/.exec(text) ?? /grpc-status: (?:13|2)\b.*/.exec(text);
  return code ? `an error of its own: ${code[0]}` : undefined;
}
