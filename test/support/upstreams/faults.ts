/**
 * Lists what upstreams do instead of answering, in the words of either vendor: before the head of the answer (`headless`), or in
 * the middle of it (`midway`).
 *
 *   upstream.script = faultyAnswer("error first", "before content");
 */
import { eventStream, type ScriptedExchange } from "../scripted-upstream.ts";
import {
  anthropicError,
  anthropicFrames,
  blockEvents,
  chatAnswer,
  chatChunk,
  helloChunks,
  helloEvents,
  messageAnswer,
  messageStart,
  openaiError,
  openaiFrames,
  usageChunk,
} from "../vendors.ts";

type Json = Readonly<Record<string, unknown>>;
type Vendor = "openai" | "anthropic";

/** Moment is how far an answer has come when its upstream fails. */
export type Moment = "whole" | "before content" | "after content";

/** Scene is what was said until then, and what is in the vendor's words. */
interface Scene {
  readonly exchange: ScriptedExchange;
  readonly vendor: Vendor;
  readonly moment: Moment;
}

type Act = (scene: Scene) => unknown;

/** vendorsWords is what every error of an upstream's says: it is the caller's to read. */
export const vendorsWords = "the vendor's own words";

const types: Readonly<Record<number, readonly [openai: string, code: string | null, anthropic: string]>> = {
  400: ["invalid_request_error", null, "invalid_request_error"],
  401: ["invalid_request_error", "invalid_api_key", "authentication_error"],
  429: ["requests", "rate_limit_exceeded", "rate_limit_error"],
  500: ["server_error", null, "api_error"],
  503: ["server_error", "service_unavailable", "overloaded_error"],
};

function errorOf(vendor: Vendor, status: number): Json {
  const [type, code, anthropic] = types[status] ?? ["server_error", null, "api_error"];
  return vendor === "openai" ? openaiError(type, vendorsWords, code) : anthropicError(anthropic, vendorsWords);
}

function refusing(status: number, headers: Readonly<Record<string, string>> = {}): Act {
  return ({ exchange, vendor }) => {
    // Anthropic has a status of its own for an overloaded service.
    const told = vendor === "anthropic" && status === 503 ? 529 : status;
    exchange.json(told, errorOf(vendor, status), headers);
  };
}

/** Before anything of the answer has come. */
const headless = {
  "is not there": () => {
    throw new Error("it was reached");
  },
  "resets the connection": ({ exchange }) => exchange.reset(),
  "takes the request and never answers": () => {},
  "takes too long for its head": ({ exchange, vendor }) => {
    setTimeout(() => exchange.json(200, wholeOf(vendor)), 800);
  },
  "answers with 400": refusing(400),
  "answers with 401": refusing(401),
  "answers with 408": ({ exchange }) => exchange.json(408, {}),
  "answers with 429 and Retry-After": refusing(429, { "retry-after": "30" }),
  "answers with 429": refusing(429),
  "answers with 500": refusing(500),
  "answers with 500 and a page": ({ exchange }) => {
    exchange.head(500, { "content-type": "text/html" });
    exchange.end("<html>");
  },
  "answers with 503": refusing(503),
  "answers with 200 and an error": ({ exchange, vendor }) => exchange.json(200, errorOf(vendor, 500)),
} as const satisfies Readonly<Record<string, Act>>;

const dripMs = 50;
/** A byte that means nothing where it stands: more of a text, or a stream's comment. */
const drops: Readonly<Record<Moment, string>> = { whole: " ", "before content": ": \n\n", "after content": ": \n\n" };

/** In the middle of an answer: after half of a whole one, before a stream's first content, or after it. */
export const midway = {
  "resets the connection midway": ({ exchange }) => exchange.reset(),
  "falls silent": () => {},
  "drips for too long": async ({ exchange, moment }) => {
    const drip = setInterval(() => void exchange.write(drops[moment]), dripMs);
    await exchange.left;
    clearInterval(drip);
  },
  "ends too early": ({ exchange }) => exchange.end(),
  "says what is no JSON": ({ exchange, moment }) => exchange.end(framed(moment, Buffer.from("<html>"))),
  "says what is no UTF-8": ({ exchange, moment }) =>
    exchange.end(framed(moment, Buffer.from([...Buffer.from('"'), 0xff, 0xfe, ...Buffer.from('"}')]))),
  "says an error": ({ exchange, vendor, moment }) => {
    const error = errorOf(vendor, 500);
    if (moment === "whole") exchange.destroy();
    else exchange.end(vendor === "openai" ? openaiFrames(error) : anthropicFrames(error));
  },
  "says more than anybody can hold": async ({ exchange, moment }) => {
    if (moment !== "whole") await exchange.write("data: ");
    const piece = Buffer.alloc(1024 * 1024, "x");
    // Who has no bound waits for the end, which never comes.
    for (let mebibytes = 0; mebibytes < 200 && (await exchange.write(piece)); ) mebibytes++;
  },
} as const satisfies Readonly<Record<string, Act>>;

function framed(moment: Moment, data: Buffer): Buffer {
  return moment === "whole" ? data : Buffer.concat([Buffer.from("data: "), data, Buffer.from("\n\n")]);
}

export type Headless = keyof typeof headless;
export type Midway = keyof typeof midway;

/** Returns the script of a fault. */
export function faultyAnswer(fault: Headless | Midway, moment: Moment): (exchange: ScriptedExchange) => void {
  return async (exchange) => {
    const vendor: Vendor = exchange.path.endsWith("/messages") ? "anthropic" : "openai";
    const scene = { exchange, vendor, moment };
    if (fault in headless) {
      (headless[fault as Headless] as Act)(scene);
      return;
    }
    exchange.head(200, moment === "whole" ? { "content-type": "application/json" } : eventStream);
    await exchange.write(beginningOf(vendor, moment));
    (midway[fault as Midway] as Act)(scene);
  };
}

/** firstWord is what every answer says first. */
export const firstWord = "Hel";

function beginningOf(vendor: Vendor, moment: Moment): string {
  if (moment === "whole") {
    const text = JSON.stringify(wholeOf(vendor));
    return text.slice(0, text.indexOf(firstWord) + firstWord.length);
  }
  if (vendor === "openai") {
    const [role, content] = [chatChunk({ role: "assistant", content: "" }), chatChunk({ content: firstWord })];
    return openaiFrames(...(moment === "before content" ? [role] : [role, content]));
  }
  const [open, delta] = blockEvents(0, { type: "text", text: "" }, { type: "text_delta", text: firstWord }) as Json[];
  const content = [open as Json, delta as Json];
  return anthropicFrames(messageStart(), ...(moment === "before content" ? [] : content));
}

function wholeOf(vendor: Vendor): Json {
  return vendor === "openai" ? chatAnswer({ content: "Hello" }) : messageAnswer([{ type: "text", text: "Hello" }]);
}

/** Answers well, and slowly: a few bytes, or a frame, now and then. */
export async function slowAnswer(exchange: ScriptedExchange): Promise<void> {
  const vendor: Vendor = exchange.path.endsWith("/messages") ? "anthropic" : "openai";
  const { stream = false } = exchange.asked;
  exchange.head(200, stream ? eventStream : { "content-type": "application/json" });
  for (const piece of stream ? framesOf(vendor) : bitsOf(JSON.stringify(wholeOf(vendor)))) {
    if (!(await exchange.write(piece))) return;
    await new Promise((resolve) => setTimeout(resolve, dripMs));
  }
  exchange.end();
}

function framesOf(vendor: Vendor): string[] {
  if (vendor === "anthropic") return helloEvents.map((event) => anthropicFrames(event));
  return [...[...helloChunks, usageChunk()].map((chunk) => openaiFrames(chunk)), "data: [DONE]\n\n"];
}

function bitsOf(text: string): string[] {
  const length = Math.ceil(text.length / 8);
  return Array.from({ length: 8 }, (_, i) => text.slice(i * length, (i + 1) * length));
}
