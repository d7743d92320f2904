/**
 * One HTTP call of somebody with a key, as JSON, and its whole answer.
 *
 *   const { status, json } = await ask(gateway, "/v1/chat/completions", { model, messages });
 *
 * For an answer in pieces, or a caller who leaves, there is `clients/hear.ts`.
 */
import type { JsonObject } from "@bufbuild/protobuf";

export interface AskOptions {
  /** The gateway's own key unless another is named. */
  readonly apiKey?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** POST where there is a body, GET otherwise. */
  readonly method?: string;
}

export interface Asked {
  readonly status: number;
  readonly headers: Headers;
  /** dropped are the paths of the request that the upstream is not told of; null where there is none. */
  readonly dropped: string | null;
  readonly text: string;
  /** The text as JSON, for the test to say what it expects of it; undefined where it is something else. */
  // biome-ignore lint/suspicious/noExplicitAny: what an answer holds differs from path to path.
  readonly json: any;
}

export async function ask(
  { rootUrl, apiKey }: { readonly rootUrl: string; readonly apiKey: string },
  path: string,
  body?: JsonObject,
  options: AskOptions = {},
): Promise<Asked> {
  const headers = { authorization: `Bearer ${options.apiKey ?? apiKey}`, ...options.headers };
  const init = body ? { body: JSON.stringify(body), headers: { "content-type": "application/json", ...headers } } : {};
  const method = options.method ?? (body ? "POST" : "GET");
  const answer = await fetch(rootUrl + path, { method, headers, ...init });
  const text = await answer.text();
  const isJson = answer.headers.get("content-type")?.startsWith("application/json");
  const dropped = answer.headers.get("x-gateway-dropped");
  return { status: answer.status, headers: answer.headers, dropped, text, json: isJson ? JSON.parse(text) : undefined };
}

/** eventsIn returns the events of a streamed answer, as JSON; the mark of its end is none. */
// biome-ignore lint/suspicious/noExplicitAny: what an event holds differs from type to type.
export function eventsIn(text: string): any[] {
  return text.split("\n").flatMap((line) => (line.startsWith("data: {") ? [JSON.parse(line.slice(6))] : []));
}
