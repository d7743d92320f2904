/**
 * Reads a server's list of models in any known form: OpenAI's, which nearly all servers use (vLLM, llama.cpp, Ollama,
 * LM Studio, SGLang), a bare list, one under `models` or `result`, one of these within another object, or an object with entries by their
 * names. Invalid entries are skipped, and so are models that are switched off, or of a kind that the gateway does not serve.
 */
import type { ModelConfig } from "../schema-models.ts";
import { modelKind } from "../schema-models.ts";
import { modelIdSchema } from "../values.ts";

type Kind = ModelConfig["kind"];

/** ListedModel is the facts of a listed model besides its name; undefined if the list does not have them. */
export interface ListedModel {
  readonly kind: Kind | undefined;
  /** contextWindow is in tokens. */
  readonly contextWindow: number | undefined;
  /** maxOutputTokens is in tokens. */
  readonly maxOutputTokens: number | undefined;
}

/** ModelList is a server's models by their names there. */
export type ModelList = ReadonlyMap<string, ListedModel>;

/** Members are those of an object of the list. Servers may put anything into them. */
type Members = Readonly<Record<string, unknown>>;

/** listKeys are the members that hold the list, or an object with it. */
const listKeys = ["data", "models", "result", "items"] as const;

/** entriesIn returns the entries of a list; undefined for an answer without one, such as an error. */
export function entriesIn(answer: unknown, depth = 0): readonly unknown[] | undefined {
  if (Array.isArray(answer)) return answer;
  const members = membersOf(answer);
  const values = listKeys.map((key) => members[key]);
  const list = values.find(Array.isArray);
  if (list) return list;
  // Ollama has null where it has no model.
  if (members.object === "list" && members.data === null) return [];
  const within =
    depth < 2 ? values.map((value) => value && entriesIn(value, depth + 1)).find(Array.isArray) : undefined;
  return within ?? values.map(entriesByName).find(Array.isArray);
}

/** entriesByName returns the entries of an object that has them by their names; undefined for one of anything else. */
function entriesByName(value: unknown): readonly Members[] | undefined {
  const entries = Object.values(membersOf(value)).map(membersOf);
  return entries.length > 0 && entries.every(({ id }) => typeof id === "string") ? entries : undefined;
}

export function readEntries(entries: readonly unknown[]): ModelList {
  // Some servers list the names alone.
  const named = (entry: unknown) => (typeof entry === "string" ? { id: entry } : membersOf(entry));
  return new Map(entries.flatMap((entry) => entryOf(named(entry))));
}

function entryOf(entry: Members): readonly (readonly [string, ListedModel])[] {
  const id = modelIdSchema.safeParse(entry.id ?? entry.model ?? entry.model_name ?? entry.name ?? entry.key).data;
  // LiteLLM lists patterns among the names.
  if (id === undefined || id.includes("*") || isOff(entry)) return [];
  const kind = kindOf(entry) ?? kindOfName(id) ?? (chats(entry) === false ? "other" : undefined);
  if (kind === "other") return [];
  const contextWindow = countAt(entry, contextWindowKeys);
  return [[id, { kind, contextWindow, maxOutputTokens: countAt(entry, outputKeysOf(entry)) }]];
}

/** isOff reports a model that takes no calls any more: Groq's, Volcengine's. */
function isOff({ active, status }: Members): boolean {
  return active === false || (typeof status === "string" && /^(?:shutdown|retired)$/i.test(status));
}

/** kindOf returns what an entry itself says: `other` is what the gateway does not serve. */
function kindOf(entry: Members): Kind | "other" | undefined {
  const own = modelKind.safeParse(entry.kind).data;
  if (own) return own;
  const words = typeKeys.map((key) => entry[key]).filter((word) => typeof word === "string");
  return (
    words.map((word) => kindsByType.get(word.toLowerCase())).find((kind) => kind !== undefined) ??
    kindOfAbilities(entry) ??
    kindOfOutput(
      entry.output_modalities ?? entry.supported_output_modalities ?? membersOf(entry.architecture).output_modalities,
    )
  );
}

/** typeKeys are the names for a model's type of LM Studio and Together, of Novita, Volcengine and Hugging Face. */
const typeKeys = ["type", "model_type", "domain", "task", "pipeline_tag"] as const;

const kindsByType: ReadonlyMap<string, Kind | "other"> = new Map([
  ...["llm", "vlm", "chat", "language", "code", "text-generation"].map((type) => [type, "chat"] as const),
  ...["embedding", "embeddings", "text-embedding", "feature-extraction"].map((type) => [type, "embedding"] as const),
  ...["audio", "tts", "speech", "text-to-speech"].map((type) => [type, "speech"] as const),
  ...["image", "video", "rerank", "reranker", "moderation", "transcribe", "classify"].map(
    (type) => [type, "other"] as const,
  ),
  ...["imagegeneration", "videogeneration", "3dgeneration", "text-to-image", "text-to-video"].map(
    (type) => [type, "other"] as const,
  ),
  ...["automatic-speech-recognition", "asr", "stt", "ocr"].map((type) => [type, "other"] as const),
]);

/** chats returns whether a model chats, as Mistral, Azure and Fireworks say it; undefined where nothing is said. */
function chats({ capabilities, supports_chat }: Members): boolean | undefined {
  const { completion_chat, chat_completion } = membersOf(capabilities);
  return [completion_chat, chat_completion, supports_chat].find((one) => typeof one === "boolean");
}

/** kindOfAbilities reads what a model can do, also as Cohere says it. */
function kindOfAbilities(entry: Members): Kind | "other" | undefined {
  const { capabilities, endpoints } = entry;
  if (membersOf(capabilities).embeddings === true) return "embedding";
  if (chats(entry)) return "chat";
  if (!Array.isArray(endpoints) || endpoints.length === 0) return undefined;
  if (endpoints.some((one) => one === "chat" || one === "chat/completions")) return "chat";
  if (endpoints.some((one) => one === "embed" || one === "embeddings")) return "embedding";
  return endpoints.some((one) => one === "rerank" || one === "classify") ? "other" : undefined;
}

/** kindOfOutput reads what OpenRouter and GitHub say that a model puts out. */
function kindOfOutput(modalities: unknown): Kind | "other" | undefined {
  if (!Array.isArray(modalities) || modalities.length === 0) return undefined;
  if (modalities.includes("text")) return "chat";
  if (modalities.some((one) => one === "embeddings" || one === "embedding")) return "embedding";
  return modalities.some((one) => one === "audio" || one === "speech") ? "speech" : "other";
}

type Naming = readonly [name: RegExp, kind: Kind | "other"];

/**
 * namesOfKinds guess the kind from the name: most servers list only names. The first that fits counts, for a reranker has the name of its
 * family's models of vectors.
 */
const namesOfKinds: readonly Naming[] = [
  asWord("rerank(?:er)?", "other"),
  asWord("embed(?:der|dings?|dinggemma)?|bge|gte|minilm|paraphrase|labse", "embedding"),
  // In the midst of letters and digits it is a part of an id.
  [/(?:^|[^a-z0-9])e5(?![a-z0-9])/i, "embedding"],
  asWord("x?tts|kokoro|chatterbox|cosyvoice|speecht5|canopylabs/orpheus", "speech"),
  asWord("whisper|transcribe|moderation|realtime|dall-e|(?:chat)?gpt-image|imagen|sdxl", "other"),
];

/** namesOfFamilies are also words, and stand at the beginning of a name that says nothing of a chat. */
const namesOfFamilies: readonly Naming[] = [
  [/^(?:.*\/)?voyage(?![a-z])/i, "embedding"],
  [/^(?:.*\/)?piper(?![a-z])/i, "speech"],
  [/^(?:.*\/)?(?:sora|veo|flux|stable-diffusion)(?![a-z])/i, "other"],
];
/** saysChat finds what models of chats are called, and the size of one. */
const saysChat = /(?:^|[^a-z0-9])(?:chat|instruct|llm|prompt|[\d.]{1,8}b)(?![a-z0-9])/i;

/** asWord returns what finds any of these names between others: neither letters before them nor behind. */
function asWord(names: string, kind: Kind | "other"): Naming {
  return [new RegExp(`(?:^|[^a-z])(?:${names})(?![a-z])`, "i"), kind];
}

function kindOfName(id: string): Kind | "other" | undefined {
  const known = saysChat.test(id) ? namesOfKinds : [...namesOfKinds, ...namesOfFamilies];
  return known.find(([name]) => name.test(id))?.[1];
}

/**
 * contextWindowKeys are servers' names for the context window: vLLM and SGLang, Together and OpenRouter, Groq, Mistral
 * and LM Studio, Anthropic and GitHub, Novita, llama.cpp.
 */
const contextWindowKeys = [
  ...["max_model_len", "context_length", "context_window", "max_context_length", "max_input_tokens"],
  ...["context_size", "n_ctx"],
];
/** maxOutputKeys are servers' names for the output limit. */
const maxOutputKeys = ["max_completion_tokens", "max_output_tokens", "max_output_token_length"];
/** outputKeysOf reads `max_tokens` beside a bound of the input, as Anthropic and this gateway have it: elsewhere it may be anything. */
function outputKeysOf(entry: Members): readonly string[] {
  return entry.max_input_tokens === undefined ? maxOutputKeys : [...maxOutputKeys, "max_tokens"];
}

/** factKeys are the members of an entry that hold such facts: GitHub's, Volcengine's, OpenRouter's, DeepInfra's, llama.cpp's. */
const factKeys = ["limits", "token_limits", "top_provider", "metadata", "meta"];

function countAt(entry: Members, keys: readonly string[]): number | undefined {
  const places = [entry, ...factKeys.map((key) => membersOf(entry[key]))];
  const counts = places.flatMap((place) => keys.map((key) => place[key]));
  return counts.find((count): count is number => Number.isSafeInteger(count) && (count as number) > 0);
}

function membersOf(value: unknown): Members {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Members) : nothing;
}

const nothing: Members = {};
