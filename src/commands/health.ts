/**
 * `model-gateway health`: asks the gateway whether it is ready, prints one line, and ends with 1 where it is not. For health checks of
 * containers and supervisors: it loads next to nothing, and reads no configuration file.
 */
import { listeningAddress } from "../config/process-environment.ts";
import { get, readText } from "../runtime/net/get.ts";
import { UsageError } from "./line/errors.ts";
import { readOptions } from "./line/read-options.ts";
import { rootUrl } from "./serving/listening.ts";

const defaultTimeoutSeconds = 5;
const maxTimeoutSeconds = 3600;
/** maxBytes is more than any answer of a gateway has, maxChars how much of its first line is printed. */
const [maxBytes, maxChars] = [1_000_000, 1000];

export async function health(args: readonly string[]): Promise<void> {
  const { url, timeout = String(defaultTimeoutSeconds) } = readOptions("health", args).values;
  const asked = url === undefined ? ownUrl() : urlOf(url);
  const timeoutMs = timeoutMsOf(timeout);
  const { isReady, text } = await ask(asked, timeoutMs).catch((error: NodeJS.ErrnoException) => ({
    isReady: false,
    text: error.name === "TimeoutError" ? `no answer within ${timeout} s` : whyOf(error),
  }));
  console[isReady ? "log" : "error"](`${asked.origin} is ${isReady ? "ready" : `not ready: ${text}`}`);
  if (!isReady) process.exitCode = 1;
}

/** ownUrl is where `serve` listens in the same environment. A gateway that listens everywhere is asked on this machine. */
function ownUrl(): URL {
  const { host = "127.0.0.1", port = "8080" } = listeningAddress();
  if (!/^[1-9]\d{0,4}$/.test(port) || Number(port) > 65535)
    throw new UsageError("PORT: expected a whole number from 1 to 65535; or name the gateway by --url");
  return urlOf(rootUrl({ host, port: Number(port) }));
}

function urlOf(text: string): URL {
  const url = URL.parse(text);
  if (url?.protocol === "http:" || url?.protocol === "https:") {
    url.pathname = `${url.pathname.replace(/\/$/, "")}/readyz`;
    return url;
  }
  throw new UsageError("--url: expected an address, as http://127.0.0.1:8080");
}

function timeoutMsOf(text: string): number {
  const seconds = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (seconds > 0 && seconds <= maxTimeoutSeconds) return seconds * 1000;
  throw new UsageError(`--timeout: expected seconds, more than 0 and at most ${maxTimeoutSeconds}`);
}

async function ask(url: URL, timeoutMs: number): Promise<{ readonly isReady: boolean; readonly text: string }> {
  const signal = AbortSignal.timeout(timeoutMs);
  const reply = await get(url, { signal });
  const { statusCode } = reply;
  const [line = ""] = (await readText(reply, maxBytes, signal)).trim().split("\n");
  return { isReady: statusCode === 200, text: `${statusCode} ${line.slice(0, maxChars)}`.trim() };
}

function whyOf({ code, message }: NodeJS.ErrnoException): string {
  if (code === "ECONNREFUSED") return "nothing listens there";
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return "there is no such host";
  if (code === "EPROTO") return "it does not speak TLS there";
  // Of a name with several addresses, none of which answers, the message is empty.
  return message.trim().split("\n")[0] || String(code);
}
