/**
 * Gemini's signature of a call ↔ the call's id as the caller knows it; and of a text ↔ a member beside the text.
 *
 * Gemini refuses the next turn without the signature that it put beside a call. Only chat has a member for it.
 * Clients of other families send a call's id back unread, so the signature travels at the end of the id. It is valid
 * for the model that made it: any other model gets the bare id. For calls of another model Gemini gets its vendor's
 * word for skipping the check. Vertex and LiteLLM have other places for the same signature, which goes back to where it
 * was. OpenRouter has signatures and encrypted reasoning of all vendors in `reasoning_details`, LiteLLM in
 * `thinking_blocks`, and both want these back: they are sealed as a text's signature is.
 *
 * An id itself may say more than the Messages API lets through: Kimi counts by it, and LiteLLM has signatures in it.
 * Such an id travels encoded.
 */
import { createHash } from "node:crypto";
import { sealMark } from "../providers/profile/sealed-signature.ts";
import { isObject, type JsonObject, type JsonValue } from "../wire/json.ts";

const mark = "-sig-";
const skipValidation = "skip_thought_signature_validator";

/** signedId returns the id for the caller. `model` is the model's name at its upstream. */
export function signedId(id: string, signature: string, model: string | undefined): string {
  return signature === "" ? id : `${id}${mark}${encoded(signature, model)}`;
}

/** sealedSignature returns a text's signature for the caller. `model` is the model's name at its upstream. */
export function sealedSignature(signature: string, model: string | undefined): string {
  return `${sealMark}${encoded(signature, model)}`;
}

/**
 * signatureForText returns the members that go beside a text of the history, from its sealed signature; none where another model made it.
 */
export function signatureForText(sealed: string, model: string | undefined): JsonObject {
  const [, form, maker, text = ""] = pattern.exec(`-${sealed}`) ?? [];
  return maker !== undefined && maker === makerOf(model) ? beside(decoded(form, text)) : {};
}

/** sealedDetails returns OpenRouter's details, and signed blocks of thinking, for the caller. `model` is the model's name at its upstream. */
export function sealedDetails(details: readonly JsonObject[], model: string | undefined): string {
  return `${sealMark}d${makerOf(model)}-${Buffer.from(JSON.stringify(details)).toString("base64url")}`;
}

const detailsPattern = /^sig-d([0-9a-f]{8})-([A-Za-z0-9_-]+)$/;

/** detailsIn returns sealed details; none where another model made them, and undefined for any other seal. */
export function detailsIn(sealed: string, model: string | undefined): readonly JsonObject[] | undefined {
  const [, maker, text = ""] = detailsPattern.exec(sealed) ?? [];
  if (maker === undefined) return undefined;
  if (maker !== makerOf(model)) return [];
  try {
    const details = JSON.parse(Buffer.from(text, "base64url").toString()) as JsonValue;
    return Array.isArray(details) ? details.filter(isObject) : [];
  } catch {
    return [];
  }
}

/** detailsMembers returns the members for details of the history. The signature of a text comes without it: the text is the caller's. */
export function detailsMembers(details: readonly JsonObject[], reasoning: string): JsonObject {
  const [blocks, others] = [details.filter(isThinkingBlock), details.filter((detail) => !isThinkingBlock(detail))];
  return {
    ...(others.length > 0 ? { reasoning_details: others.map((detail) => withText(detail, "text", reasoning)) } : {}),
    ...(blocks.length > 0 ? { thinking_blocks: blocks.map((block) => withText(block, "thinking", reasoning)) } : {}),
  };
}

function isThinkingBlock({ type }: JsonObject): boolean {
  return type === "thinking" || type === "redacted_thinking";
}

function withText(detail: JsonObject, key: "text" | "thinking", reasoning: string): JsonObject {
  const isBare = (detail.type === "reasoning.text" || detail.type === "thinking") && (detail[key] ?? "") === "";
  return isBare ? { ...detail, [key]: reasoning } : detail;
}

function encoded(signature: string, model: string | undefined): string {
  const short = shortOf(signature);
  const isShort = /^[A-Za-z0-9_-]+$/.test(short) && longOf(short) === signature;
  const text = isShort ? short : Buffer.from(signature).toString("base64url");
  return `${isShort ? "b" : "t"}${makerOf(model)}-${text}`;
}

function decoded(form: string | undefined, text: string): string {
  return form === "b" ? longOf(text) : Buffer.from(text, "base64url").toString();
}

/** unsignedId returns the id as its upstream knows it. */
export function unsignedId(id: string): string {
  const at = id.indexOf(mark);
  const bare = at !== -1 && pattern.test(id.slice(at)) ? id.slice(0, at) : id;
  const [, readable, encodedId = ""] = portable.exec(bare) ?? [];
  const original = Buffer.from(encodedId, "base64url").toString();
  return readable === replaced(original) && readable !== original ? original : bare;
}

const portable = /^([A-Za-z0-9_-]*)-id-([A-Za-z0-9_-]+)$/;

/** portableId returns an id of letters, digits, `_` and `-`, which `unsignedId` turns back. */
export function portableId(id: string): string {
  const readable = replaced(id);
  return readable === id ? id : `${readable}-id-${Buffer.from(id).toString("base64url")}`;
}

/** replaced returns the beginning of an id, without characters that the Messages API refuses. */
function replaced(id: string): string {
  return id.slice(0, readableLength).replaceAll(/[^A-Za-z0-9_-]/g, "_");
}

const readableLength = 64;

/**
 * signatureForCall returns the members that go beside a call of the history, from its signed id. `isFirst` of its turn: parallel calls
 * share a signature.
 */
export function signatureForCall(id: string, isFirst: boolean, model: string | undefined): JsonObject {
  const at = id.indexOf(mark);
  const [, form, maker, text = ""] = (at === -1 ? undefined : pattern.exec(id.slice(at))) ?? [];
  if (maker !== undefined && maker === makerOf(model)) {
    return beside(decoded(form, text));
  }
  return isFirst && model !== undefined && demandsSignatures.test(model) ? beside(skipValidation) : {};
}

/** signatureOf returns the signature beside a call or a text of an answer, with its place where that is not Gemini's; empty without one. */
export function signatureOf(extra: JsonObject | undefined): string {
  if (!extra) return "";
  const { extra_content: vendors, provider_specific_fields: specific } = extra;
  for (const [vendor, fields] of Object.entries(isObject(vendors) ? vendors : {})) {
    const signature = isObject(fields) ? fields.thought_signature : undefined;
    if (typeof signature !== "string" || signature === "") continue;
    return vendor === "google" ? signature : placed({ extra_content: { [vendor]: { thought_signature: signature } } });
  }
  const signed = Object.entries(isObject(specific) ? specific : {}).filter(([key, value]) => isSignature(key, value));
  return signed.length > 0 ? placed({ provider_specific_fields: Object.fromEntries(signed) }) : "";
}

function isSignature(key: string, value: JsonValue): boolean {
  if (key === "thought_signature") return typeof value === "string" && value !== "";
  return key === "thought_signatures" && Array.isArray(value) && value.length > 0;
}

/** Begins a signature that has its place with it. No base64 has a colon. */
const placeMark = "at:";

function placed(members: JsonObject): string {
  return placeMark + JSON.stringify(members);
}

const pattern = /^-sig-([bt])([0-9a-f]{8})-([A-Za-z0-9_-]+)$/;
const demandsSignatures = /(^|\/)gemini-(?:[3-9]|[1-9]\d)/i;

function beside(thought_signature: string): JsonObject {
  if (thought_signature.startsWith(placeMark)) return membersIn(thought_signature.slice(placeMark.length));
  return { extra_content: { google: { thought_signature } } };
}

function membersIn(text: string): JsonObject {
  try {
    const members = JSON.parse(text) as JsonValue;
    return isObject(members) ? members : {};
  } catch {
    return {};
  }
}

function makerOf(model = ""): string {
  return createHash("sha256").update(model).digest("hex").slice(0, 8);
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
