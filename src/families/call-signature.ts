/**
 * Gemini's signature of a call ↔ the call's id as the caller knows it; and of a text ↔ a member beside the text.
 *
 * Gemini refuses the next turn without the signature that it put beside a call. Only chat has a member for it.
 * Clients of other families send a call's id back unread, so the signature travels at the end of the id. It is valid
 * for the model that made it: any other model gets the bare id. For calls of another model Gemini gets its vendor's
 * word for skipping the check. OpenRouter has signatures and encrypted reasoning of all vendors in `reasoning_details`,
 * and wants these back: they are sealed as a text's signature is.
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

/** sealedDetails returns OpenRouter's details for the caller. `model` is the model's name at its upstream. */
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

/** detailsMember returns the member for details of the history. The signature of a text comes without it: the text is the caller's. */
export function detailsMember(details: readonly JsonObject[], reasoning: string): JsonObject {
  if (details.length === 0) return {};
  const isBare = ({ type, text = "" }: JsonObject) => type === "reasoning.text" && text === "";
  return { reasoning_details: details.map((detail) => (isBare(detail) ? { ...detail, text: reasoning } : detail)) };
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
  return at !== -1 && pattern.test(id.slice(at)) ? id.slice(0, at) : id;
}

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

/** signatureOf returns the signature beside a call or a text of an answer; empty without one. */
export function signatureOf(extra: JsonObject | undefined): string {
  const google = (extra?.extra_content as JsonObject | null | undefined)?.google as JsonObject | null | undefined;
  const signature: JsonValue | undefined = google?.thought_signature;
  return typeof signature === "string" ? signature : "";
}

const pattern = /^-sig-([bt])([0-9a-f]{8})-([A-Za-z0-9_-]+)$/;
const demandsSignatures = /(^|\/)gemini-(?:[3-9]|[1-9]\d)/i;

function beside(thought_signature: string): JsonObject {
  return { extra_content: { google: { thought_signature } } };
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
