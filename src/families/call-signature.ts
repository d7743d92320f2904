/**
 * Gemini's signature of a call ↔ the call's id as the caller knows it; and of a text ↔ a member beside the text.
 *
 * Gemini refuses the next turn without the signature that it put beside a call. Only chat has a member for it.
 * Clients of other families send a call's id back unread, so the signature travels at the end of the id. It is valid
 * for the model that made it: any other model gets the bare id. For calls of another model Gemini gets its vendor's
 * word for skipping the check. Vertex and LiteLLM have other places for the same signature, which goes back to where it
 * was, and to no other upstream. OpenRouter has signatures and encrypted reasoning of all vendors in `reasoning_details`, LiteLLM in
 * `thinking_blocks`, and both want these back: they are sealed as a text's signature is.
 *
 * An id itself may say more than the Messages API lets through: Kimi counts by it, and LiteLLM has signatures in it.
 * Such an id travels encoded.
 */
import { sealMark } from "../providers/profile/sealed-signature.ts";
import { shortHash } from "../runtime/ids.ts";
import { isFilledText, isObject, type JsonObject, type JsonValue, objectsIn, parsedJson } from "../wire/json.ts";
import type { Target } from "./translation.ts";

const mark = "-sig-";
const skipValidation = "skip_thought_signature_validator";

/** signedId returns the id for the caller. */
export function signedId(id: string, signature: string, target: Target | undefined): string {
  return signature === "" ? id : `${id}${mark}${encoded(signature, target)}`;
}

/** sealedSignature returns a text's signature for the caller. */
export function sealedSignature(signature: string, target: Target | undefined): string {
  return `${sealMark}${encoded(signature, target)}`;
}

/**
 * signatureForText returns the members that go beside a text of the history, from its sealed signature; none where another model made it.
 */
export function signatureForText(sealed: string, target: Target | undefined): JsonObject {
  const signature = signatureIn(signedParts(`-${sealed}`), target);
  return signature === undefined ? {} : beside(signature);
}

/** sealedDetails returns OpenRouter's details, and signed blocks of thinking, for the caller. */
export function sealedDetails(details: readonly JsonObject[], target: Target | undefined): string {
  return `${sealMark}d${makerOf(target)}-${Buffer.from(JSON.stringify(details)).toString("base64url")}`;
}

const detailsPattern = /^sig-d([0-9a-f]{8})-([A-Za-z0-9_-]+)$/;

/** detailsIn returns sealed details; none where another model made them, and undefined for any other seal. */
export function detailsIn(sealed: string, target: Target | undefined): readonly JsonObject[] | undefined {
  const [, maker, text = ""] = detailsPattern.exec(sealed) ?? [];
  if (maker === undefined) return undefined;
  if (maker !== makerOf(target)) return [];
  const details = parsedJson(Buffer.from(text, "base64url").toString());
  return objectsIn(details);
}

/**
 * withText returns the details of one seal, its first signature without a text with `reasoning`: what the caller has had since the seal
 * before. A caller may write any number of signatures into a seal, so one gets the text.
 */
export function withText(details: readonly JsonObject[], reasoning: string): readonly JsonObject[] {
  const at = details.findIndex((detail) => {
    const key = textKeys.get(detail.type ?? null);
    return key !== undefined && (detail[key] ?? "") === "";
  });
  const key = textKeys.get(details[at]?.type ?? null);
  return key === undefined ? details : details.with(at, { ...details[at], [key]: reasoning });
}

/** endsText reports whether the text before a seal is for no later one: the seal signs it, or another model made both. */
export function endsText(details: readonly JsonObject[]): boolean {
  return details.length === 0 || details.some(({ type }) => textKeys.has(type ?? null));
}

/** textKeys has the member that holds the text, by the type of a detail. */
const textKeys: ReadonlyMap<JsonValue, "text" | "thinking"> = new Map([
  ["reasoning.text", "text"],
  ["thinking", "thinking"],
]);

/** detailsMembers returns the members of a message for details of the history, which have their texts. */
export function detailsMembers(details: readonly JsonObject[]): JsonObject {
  const [blocks, others] = [details.filter(isThinking), details.filter((detail) => !isThinking(detail))];
  return {
    ...(others.length > 0 ? { reasoning_details: others } : {}),
    ...(blocks.length > 0 ? { thinking_blocks: blocks } : {}),
  };
}

/** isThinking reports whether a block of the Messages API is thinking, visible or not. */
export function isThinking({ type }: JsonObject): boolean {
  return type === "thinking" || type === "redacted_thinking";
}

function encoded(signature: string, target: Target | undefined): string {
  const short = shortOf(signature);
  const isShort = /^[A-Za-z0-9_-]+$/.test(short) && longOf(short) === signature;
  const text = isShort ? short : Buffer.from(signature).toString("base64url");
  return `${isShort ? "b" : "t"}${makerOf(target, signature)}-${text}`;
}

/** unsignedId returns the id as its upstream knows it. */
export function unsignedId(id: string): string {
  const bare = signedParts(id)?.id ?? id;
  return originalOf(bare) ?? bare;
}

interface SignedParts {
  readonly id: string;
  readonly form: string;
  readonly maker: string;
  readonly text: string;
}

const signedHead = /-sig-([bt])([0-9a-f]{8})-/;

/** signedParts returns undefined for an id without a signature. */
function signedParts(id: string): SignedParts | undefined {
  const found = signedHead.exec(id);
  if (!found) return undefined;
  const [head, form = "", maker = ""] = found;
  const text = id.slice(found.index + head.length);
  return /^[A-Za-z0-9_-]+$/.test(text) ? { id: id.slice(0, found.index), form, maker, text } : undefined;
}

/** signatureIn returns undefined where the target did not make the signature. */
function signatureIn(parts: SignedParts | undefined, target: Target | undefined): string | undefined {
  if (!parts) return undefined;
  const { form, maker, text } = parts;
  const signature = form === "b" ? longOf(text) : Buffer.from(text, "base64url").toString();
  return maker === makerOf(target, signature) ? signature : undefined;
}

const idMark = "-id-";

/** portableId returns an id of letters, digits, `_` and `-`, which `unsignedId` turns back. */
export function portableId(id: string): string {
  const readable = replaced(id);
  return readable === id ? id : `${readable}${idMark}${Buffer.from(id).toString("base64url")}`;
}

/** originalOf returns the id that `portableId` encoded; undefined for any other. An encoded text may have the mark in it, too. */
function originalOf(portable: string): string | undefined {
  for (let at = portable.indexOf(idMark); at !== -1 && at <= readableLength; at = portable.indexOf(idMark, at + 1)) {
    const text = portable.slice(at + idMark.length);
    // Before a readable part shorter than the longest stands no long id: a caller's long one is decoded once.
    if (at < readableLength && text.length > longestShort) continue;
    const original = Buffer.from(text, "base64url").toString();
    if (portableId(original) === portable) return original;
  }
  return undefined;
}

/** replaced returns the beginning of an id, without characters that the Messages API refuses. */
function replaced(id: string): string {
  return id.slice(0, readableLength).replaceAll(/[^A-Za-z0-9_-]/g, "_");
}

const readableLength = 64;
/** longestShort is the most characters of base64url that so many characters of text can have. */
const longestShort = readableLength * 4;

/**
 * signatureForCall returns the members that go beside a call of the history, from its signed id. `isFirst` of its turn: parallel calls
 * share a signature.
 */
export function signatureForCall(id: string, isFirst: boolean, target: Target | undefined): JsonObject {
  const signature = signatureIn(signedParts(id), target);
  if (signature !== undefined) return beside(signature);
  return isFirst && target && demandsSignatures.test(target.model) ? beside(skipValidation) : {};
}

/** signatureOf returns the signature beside a call or a text of an answer, with its place where that is not Gemini's; empty without one. */
export function signatureOf(extra: JsonObject | undefined): string {
  if (!extra) return "";
  const { extra_content: vendors, provider_specific_fields: specific } = extra;
  for (const [vendor, fields] of Object.entries(isObject(vendors) ? vendors : {})) {
    const signature = isObject(fields) ? fields.thought_signature : undefined;
    if (!isFilledText(signature)) continue;
    return vendor === "google" ? signature : placed({ extra_content: { [vendor]: { thought_signature: signature } } });
  }
  const signed = Object.entries(isObject(specific) ? specific : {}).filter(([key, value]) => isSignature(key, value));
  return signed.length > 0 ? placed({ provider_specific_fields: Object.fromEntries(signed) }) : "";
}

function isSignature(key: string, value: JsonValue): boolean {
  if (key === "thought_signature") return isFilledText(value);
  return key === "thought_signatures" && Array.isArray(value) && value.length > 0;
}

/** placeMark begins a signature that has its place with it. No base64 has a colon. */
const placeMark = "at:";

function placed(members: JsonObject): string {
  return placeMark + JSON.stringify(members);
}

const demandsSignatures = /(^|\/)gemini-(?:[3-9]|[1-9]\d)/i;

function beside(thought_signature: string): JsonObject {
  if (thought_signature.startsWith(placeMark)) return membersIn(thought_signature.slice(placeMark.length));
  return { extra_content: { google: { thought_signature } } };
}

/** membersIn returns the two members that `signatureOf` reads, and nothing else that a caller may have written. */
function membersIn(text: string): JsonObject {
  const members = parsedJson(text);
  if (!isObject(members)) return {};
  const { extra_content, provider_specific_fields } = members;
  return {
    ...(isObject(extra_content) ? { extra_content } : {}),
    ...(isObject(provider_specific_fields) ? { provider_specific_fields } : {}),
  };
}

/** makerOf returns a hash of the model's name, and of its upstream's where the signature has a place of that upstream's. */
function makerOf(target: Target | undefined, signature = ""): string {
  const { model = "", upstream = "" } = target ?? {};
  const maker = signature.startsWith(placeMark) ? `${model}\n${upstream}` : model;
  return shortHash(maker);
}

/** Signatures are base64, and ids take base64url only. */
function shortOf(base64: string): string {
  return base64
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/={1,2}$/, "");
}

function longOf(short: string): string {
  const padding = "=".repeat((4 - (short.length % 4)) % 4);
  return short.replaceAll("-", "+").replaceAll("_", "/") + padding;
}
