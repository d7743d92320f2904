/**
 * Asks a server for its models (`GET {base_url}/models`) and parses the list in any known form (`listed-models.ts`). Causes of failures quote
 * nothing from the answer.
 */
import { discard, get, readBytes, TooLong } from "../../runtime/net/get.ts";
import { lookupElsewhere } from "../../runtime/net/metadata-addresses.ts";
import { credentialOf } from "../catalogue/vendors.ts";
import type { UpstreamConfig } from "../schema-models.ts";
import { type ConnectionReason, connectionReason, hostOf } from "./connection-failure.ts";
import { entriesIn, type ModelList, readEntries } from "./listed-models.ts";

export type { ModelList };

/**
 * ListAnswer is a list, or why there is none: the server does not provide one (`untold`), rejects the key (`refused`),
 * or cannot be asked now (`down`).
 */
export type ListAnswer =
  | { readonly kind: "list"; readonly list: ModelList }
  | ({ readonly kind: "untold" | "refused" | "down"; readonly cause: string } & ListFailure);

/** ListFailure is why there is no list, as the contract has it (`TestReason`). */
export interface ListFailure {
  readonly reason: ListReason;
  readonly parameters: Readonly<Record<string, string>>;
}

type ListReason =
  | ConnectionReason
  | "CREDENTIAL_REFUSED"
  | "RATE_LIMITED"
  | "REDIRECTED"
  | "STATUS_REFUSED"
  | "LIST_NOT_FOUND"
  | "LIST_NOT_JSON"
  | "LIST_MALFORMED"
  | "LIST_TOO_LARGE";

const maxListBytes = 4 * 1024 * 1024;
/** maxModels is the most models in a list. Every change of a list blocks the process while all models are compared. */
const maxModels = 10_000;
const listBound = { most: String(maxModels) };
const timeoutMs = 3000;

/** askForModels asks a server. It gives up after `timeout` milliseconds, or when `closing` fires. Never throws. */
export async function askForModels(
  upstream: UpstreamConfig,
  closing: AbortSignal,
  timeout = timeoutMs,
): Promise<ListAnswer> {
  try {
    // The signal bounds the whole exchange, including a body that never ends.
    const signal = AbortSignal.any([closing, AbortSignal.timeout(timeout)]);
    return { kind: "list", list: readList(await askForText(upstream, signal)) };
  } catch (error) {
    if (error instanceof NoModelList) return { kind: error.kind, cause: error.message, ...error.failure };
    const { name, code = name } = error as NodeJS.ErrnoException;
    const parameters = { host: hostOf(upstream.base_url), code, milliseconds: String(timeout) };
    return { kind: "down", cause: causeOf(error), reason: connectionReason(error) ?? "CONNECTION_FAILED", parameters };
  }
}

/** NoModelList is thrown when a server answers without a list. */
class NoModelList extends Error {
  readonly kind: "untold" | "refused" | "down";
  readonly failure: ListFailure;

  constructor(why: string, reason: ListReason, parameters: Readonly<Record<string, string>> = {}) {
    super(why);
    this.kind = kindOf(reason);
    this.failure = { reason, parameters };
  }
}

/** kindOf tells those that may answer otherwise soon, and those that want another key, from those that have no list. */
function kindOf(reason: ListReason): NoModelList["kind"] {
  if (reason === "CREDENTIAL_REFUSED") return "refused";
  return reason === "STATUS_REFUSED" || reason === "RATE_LIMITED" ? "down" : "untold";
}

async function askForText(upstream: UpstreamConfig, signal: AbortSignal): Promise<string> {
  const url = new URL(`${upstream.base_url}/models`);
  // Anthropic's list comes in pages; this is the longest page.
  const whole = upstream.kind === "anthropic" ? { limit: "1000", ...upstream.query } : upstream.query;
  for (const [name, value] of Object.entries(whole ?? {})) url.searchParams.append(name, value);
  const reply = await get(url, { headers: headersOf(upstream), lookup: lookupElsewhere, signal });
  const { statusCode = 0 } = reply;
  if (statusCode !== 200) {
    discard(reply);
    const status = String(statusCode);
    throw new NoModelList(`it answered with status ${status}`, reasonOf(statusCode), { status });
  }
  try {
    return decoded(await readBytes(reply, maxListBytes, signal), reply.headers["content-encoding"]);
  } catch (error) {
    if (!(error instanceof TooLong)) throw error;
    throw new NoModelList(`its answer is larger than ${maxListBytes} bytes`, "LIST_TOO_LARGE", listBound);
  }
}

/** decoded returns the text of a body. Some proxies compress what nobody asked them to. */
function decoded(body: Buffer, coding = ""): string {
  if (coding === "") return body.toString();
  const { brotliDecompressSync, inflateSync, gunzipSync, zstdDecompressSync } = process.getBuiltinModule("node:zlib");
  const options = { maxOutputLength: maxListBytes };
  try {
    switch (coding.trim().toLowerCase()) {
      case "gzip":
      case "x-gzip":
        return gunzipSync(body, options).toString();
      case "deflate":
        return inflateSync(body, options).toString();
      case "br":
        return brotliDecompressSync(body, options).toString();
      case "zstd":
        return zstdDecompressSync(body, options).toString();
    }
  } catch {
    throw new NoModelList("its answer cannot be decompressed", "LIST_NOT_JSON");
  }
  return body.toString();
}

function headersOf({ kind, api_keys, api_key = api_keys?.[0], credential, headers }: UpstreamConfig) {
  const own = { accept: "application/json", "user-agent": "model-gateway" };
  if (kind !== "anthropic") return { ...headers, ...own, ...credentialOf(api_key, credential) };
  const version = { "anthropic-version": "2023-06-01" };
  return { ...version, ...headers, ...own, ...credentialOf(api_key, credential ?? "x-api-key") };
}

function reasonOf(status: number): ListReason {
  if (status === 401 || status === 403) return "CREDENTIAL_REFUSED";
  if (status === 429) return "RATE_LIMITED";
  if (isTransient(status)) return "STATUS_REFUSED";
  return status >= 300 && status < 400 ? "REDIRECTED" : "LIST_NOT_FOUND";
}

/** isTransient returns whether a server with this status may answer otherwise soon: it is starting or overloaded. */
function isTransient(status: number): boolean {
  return status === 408 || status === 429 || (status >= 500 && status !== 501);
}

function readList(text: string): ModelList {
  const entries = entriesIn(parsed(text));
  if (!entries) throw new NoModelList("its answer has no list of models", "LIST_MALFORMED");
  if (entries.length > maxModels)
    throw new NoModelList(`its list has more than ${maxModels} models`, "LIST_TOO_LARGE", listBound);
  return readEntries(entries);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch {
    // The parser's message would quote the answer.
    throw new NoModelList("its answer is not JSON", "LIST_NOT_JSON");
  }
}

function causeOf(error: unknown): string {
  const { name, message, code } = error as NodeJS.ErrnoException;
  if (name === "TimeoutError") return "it did not answer in time";
  // OpenSSL's own words name files of its sources.
  if (connectionReason(error) === "TLS_NOT_SPOKEN")
    return "it does not speak TLS there: write http:// where that is meant";
  return message || code || name;
}
