/**
 * Asks a server which models it has (`GET {base_url}/models`) and reads its list, whichever server it is: OpenAI's form, which
 * nearly all have (vLLM, llama.cpp, Ollama, LM Studio, SGLang), a bare list, or one under `models`.
 *
 * Entries that cannot be read are passed over. The causes that are told quote nothing of the answer.
 */
import { request } from "undici";
import type { ModelConfig, UpstreamConfig } from "./schema-models.ts";
import { modelKind } from "./schema-models.ts";
import { modelIdSchema } from "./values.ts";
import { credentialOf } from "./vendors.ts";

/** The facts of a model in a list, beside its name; undefined where the list does not say them. */
export interface ListedModel {
  readonly kind: ModelConfig["kind"] | undefined;
  /** In tokens. */
  readonly contextWindow: number | undefined;
  /** In tokens. */
  readonly maxOutputTokens: number | undefined;
}

/** The models of a server by their names there. */
export type ModelList = ReadonlyMap<string, ListedModel>;

/**
 * A list; or why there is none: the server does not tell (`untold`), wants another key than it was shown (`refused`), or cannot
 * be asked at the moment (`down`).
 */
export type ListAnswer =
  | { readonly kind: "list"; readonly list: ModelList }
  | { readonly kind: "untold" | "refused" | "down"; readonly cause: string };

const maxListBytes = 4 * 1024 * 1024;
/** The most that a list may name. Whenever a list changes all models are looked through, and nothing else is done meanwhile. */
const mostModels = 10_000;
const timeoutMs = 3000;

/** Gives up after so many milliseconds, or when `closing` fires. Never throws. */
export async function askForModels(
  upstream: UpstreamConfig,
  closing: AbortSignal,
  timeout = timeoutMs,
): Promise<ListAnswer> {
  try {
    // The signal bounds the whole exchange, a body that never ends among it.
    const signal = AbortSignal.any([closing, AbortSignal.timeout(timeout)]);
    return { kind: "list", list: readList(await readText(upstream, signal)) };
  } catch (error) {
    return { kind: error instanceof Untold ? error.kind : "down", cause: causeOf(error) };
  }
}

/** Says that a server answers, and will not answer otherwise if it is asked again at once. */
class Untold extends Error {
  readonly kind: "untold" | "refused";

  constructor(why: string, kind: "untold" | "refused" = "untold") {
    super(why);
    this.kind = kind;
  }
}

async function readText(upstream: UpstreamConfig, signal: AbortSignal): Promise<string> {
  const { base_url, query = {}, kind } = upstream;
  // Anthropic's list comes in pages; this is the longest.
  const whole = kind === "anthropic" ? { limit: "1000", ...query } : query;
  const headers = headersOf(upstream);
  const { statusCode, body } = await request(`${base_url}/models`, { headers, query: whole, signal });
  if (statusCode !== 200) {
    body.on("error", () => {}).destroy();
    const why = `it answered with status ${statusCode}`;
    if (isPassing(statusCode)) throw new Error(why);
    throw new Untold(why, statusCode === 401 || statusCode === 403 ? "refused" : "untold");
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxListBytes) throw new Untold(`its answer is larger than ${maxListBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function headersOf({ kind, api_keys, api_key = api_keys?.[0], credential, headers }: UpstreamConfig) {
  const own = { accept: "application/json", "user-agent": "model-gateway" };
  if (kind !== "anthropic") return { ...headers, ...own, ...credentialOf(api_key, credential) };
  const version = { "anthropic-version": "2023-06-01" };
  return { ...version, ...headers, ...own, ...credentialOf(api_key, credential ?? "x-api-key") };
}

/** Whether a server that answers so may answer otherwise soon: it is starting, or has too much to do. */
function isPassing(status: number): boolean {
  return status === 408 || status === 429 || (status >= 500 && status !== 501);
}

function readList(text: string): ModelList {
  const json = parsed(text);
  const { object, data, models } = (json ?? {}) as { object?: unknown; data?: unknown; models?: unknown };
  const entries = [json, data, models].find(Array.isArray) ?? (object === "list" && data === null ? [] : undefined);
  if (!entries) throw new Untold("its answer has no list of models");
  if (entries.length > mostModels) throw new Untold(`its list has more than ${mostModels} models`);
  return new Map(entries.flatMap((entry: Entry | null) => entryOf(entry ?? {})));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's words would quote the answer.
    throw new Untold("its answer is not JSON");
  }
}

/** The members of an entry that are read. A server may put anything into them. */
type Entry = Partial<
  Readonly<Record<"id" | "name" | "model" | "kind" | "type", unknown>> &
    Readonly<Record<(typeof windows)[number] | (typeof outputs)[number], unknown>>
>;

/** How servers call the context of a model: vLLM and SGLang, Together and OpenRouter, Groq, Mistral and LM Studio, Anthropic. */
const windows = [
  "max_model_len",
  "context_length",
  "context_window",
  "max_context_length",
  "max_input_tokens",
] as const;
/** How they call the bound of its output. */
const outputs = ["max_completion_tokens", "max_output_tokens"] as const;

function entryOf(entry: Entry): readonly (readonly [string, ListedModel])[] {
  const id = modelIdSchema.safeParse(entry.id ?? entry.model ?? entry.name).data;
  if (id === undefined || otherTypes.has(entry.type as string)) return [];
  const kind = modelKind.safeParse(entry.kind).data ?? types.get(entry.type as string) ?? kindOfName(id);
  return [[id, { kind, contextWindow: countAt(entry, windows), maxOutputTokens: countAt(entry, outputs) }]];
}

/** LM Studio's and Together's words for the kinds of models: those that the gateway serves, and those that it does not. */
const types: ReadonlyMap<string, ModelConfig["kind"]> = new Map([
  ...["llm", "vlm", "chat", "language", "code"].map((type) => [type, "chat"] as const),
  ...["embedding", "embeddings"].map((type) => [type, "embedding"] as const),
]);
const otherTypes: ReadonlySet<string> = new Set(["image", "video", "rerank", "moderation", "transcribe"]);

/** Most local servers tell nothing but names; those of embedding models say what they are. */
function kindOfName(id: string): ModelConfig["kind"] | undefined {
  return /(^|[^a-z])embed(ding|der|dings)?([^a-z]|$)/i.test(id) ? "embedding" : undefined;
}

function countAt(entry: Entry, keys: readonly (keyof Entry)[]): number | undefined {
  const counts = keys.map((key) => entry[key]);
  return counts.find((count): count is number => Number.isSafeInteger(count) && (count as number) > 0);
}

function causeOf(error: unknown): string {
  const { name, message, code } = error as NodeJS.ErrnoException;
  return name === "TimeoutError" ? "it did not answer in time" : message || code || name;
}
