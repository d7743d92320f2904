/**
 * `model-gateway health`: asks the gateway whether it is ready, prints one line, and ends with 1 where it is not. For health checks of
 * containers and supervisors: it loads next to nothing, and reads no configuration file.
 */
import { get, type IncomingMessage } from "node:http";
import { listeningAddress } from "../config/process-environment.ts";
import { UsageError } from "./line/errors.ts";
import { readOptions } from "./line/read-options.ts";
import { rootUrl } from "./serving/listening.ts";

const defaultTimeoutSeconds = 5;
const maxTimeoutSeconds = 3600;
/** More than an answer of the gateway has; the rest is not read. */
const maxChars = 1000;

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
  const send = url.protocol === "https:" ? (await import("node:https")).get : get;
  const signal = AbortSignal.timeout(timeoutMs);
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => reject(signal.aborted ? signal.reason : error);
    const onAnswer = (answer: IncomingMessage) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (piece: string) => {
        text = (text + piece).slice(0, maxChars);
      });
      answer.on("error", fail);
      answer.on("end", () => {
        const [line = ""] = text.trim().split("\n");
        resolve({ isReady: answer.statusCode === 200, text: `${answer.statusCode} ${line}`.trim() });
      });
    };
    send(url, { signal, agent: false }, onAnswer).on("error", fail);
  });
}

function whyOf({ code, message }: NodeJS.ErrnoException): string {
  if (code === "ECONNREFUSED") return "nothing listens there";
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return "there is no such host";
  if (code === "EPROTO") return "it does not speak TLS there";
  // Of a name with several addresses, none of which answers, the message is empty.
  return message.trim().split("\n")[0] || String(code);
}
