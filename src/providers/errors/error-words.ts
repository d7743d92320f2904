/**
 * Reads what an upstream's error says, in whichever shape: the one reader for answers, for streams and for errors in the place
 * of an answer.
 *
 * Servers that call themselves compatible put their words into `error.message`, `error`, `message`, `detail`, `errors`, lists of
 * these, or plain text. Pages of HTML and what is no text say nothing to a caller, and are never told.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { membersOf } from "../usage/count.ts";

export interface ErrorFields {
  /** What it says to people. */
  readonly message: string | undefined;
  /** Names and numbers of the error, as they came; the innermost first. */
  readonly codes: readonly (string | number)[];
  readonly param: string | undefined;
  /** Whether the body has the shape of OpenAI's family, or of Anthropic's. */
  readonly isOpenAi: boolean;
  readonly isAnthropic: boolean;
  /** Whether it is bare text, as of a proxy on the way. */
  readonly isText: boolean;
  /** The error in its own shape, for who knows it. */
  readonly error: JsonObject;
}

/** The longest text that is taken for a message, in characters: what is longer is a page, or a trace. */
const longestText = 2000;
/** How far into a body its words are looked for, and how many of a list are told. */
const deepest = 5;
const mostOfList = 5;

/** Reads the body of an error answer. */
export function readErrorBody(body: Buffer): ErrorFields {
  const read = body.toString();
  const text = read.trim(); // A mark of the byte order is white space.
  const json = jsonIn(text);
  if (json !== undefined && typeof json !== "string") {
    const words = readErrorJson(json);
    // What stands in a frame, or behind a mark of its byte order, is told anew.
    return bare.test(read) ? words : { ...words, isOpenAi: false, isAnthropic: false };
  }
  return { ...silent, isText: true, message: asMessage(json ?? text) };
}

const bare = /^[ \t\r\n]*\{/;

/** Reads an error that has been parsed. */
export function readErrorJson(json: JsonValue): ErrorFields {
  const outer = membersOf(Array.isArray(json) ? json[0] : json);
  const error = innermost(outer);
  const { type, message } = membersOf(outer.error);
  const isWorded = typeof message === "string" && !Array.isArray(json) && asMessage(message) !== undefined;
  return {
    message: textIn(json, 0),
    codes: codesOf(error, outer),
    param: paramOf(error),
    isOpenAi: isWorded,
    isAnthropic: isWorded && outer.type === "error" && typeof type === "string",
    isText: false,
    error,
  };
}

const silent: ErrorFields = {
  ...{ message: undefined, codes: [], param: undefined },
  ...{ isOpenAi: false, isAnthropic: false, isText: false, error: {} },
};

/** Returns what JSON is in a body: all of it, or the first data of a stream. */
function jsonIn(text: string): JsonValue | undefined {
  const data = /^(?:event:[^\n]{0,100}\n)?data:([^\n]*)/.exec(text)?.[1];
  try {
    return JSON.parse(data ?? text) as JsonValue;
  } catch {
    return undefined; // An error page of a proxy on the way, say.
  }
}

/** The longest error in a list that is looked into, in bytes. */
const longestList = 64 * 1024;

/** Returns what stands first in a list, where the bytes are one: so Google's errors come. */
export function firstOfList(bytes: Buffer): JsonObject | undefined {
  if (bytes[0] !== 0x5b || bytes.length > longestList) return undefined;
  const list = jsonIn(bytes.toString());
  return Array.isArray(list) && membersOf(list[0]) === list[0] ? list[0] : undefined;
}

/** Where the words of an object may stand, the most telling first. The names that hold words of a status only come last. */
const wordKeys: readonly string[] = [
  ...["message", "Message", "error_message", "errorMessage", "error_msg", "errmsg", "err_msg", "status_msg"],
  ...["error_description", "msg", "detail", "details", "error", "errors", "base_resp", "fault", "faultstring"],
  ...["response", "reason", "description", "title"],
];

function textIn(value: JsonValue | undefined, depth: number): string | undefined {
  if (typeof value === "string") return wordsOf(value, depth);
  if (typeof value !== "object" || value === null || depth > deepest) return undefined;
  if (Array.isArray(value)) return listed(value.slice(0, mostOfList).map((item) => textIn(item, depth + 1)));
  const { error, errors, loc, msg } = value;
  // Where the whole body is at fault its path says nothing.
  if (typeof msg === "string" && Array.isArray(loc))
    return asMessage(pathOf(loc) === "body" ? msg : `${pathOf(loc)}: ${msg}`);
  // An object says more than a text beside it, which may only name the status.
  const inner = [error, errors].filter((member) => typeof member === "object" && member !== null);
  const found = firstText(inner, depth) ?? firstText(wordsIn(value), depth);
  const raw = textIn(membersOf(value.metadata).raw, depth + 1);
  return raw === undefined || raw === found ? found : listed([found, raw], ": ");
}

function wordsIn(value: JsonObject): JsonValue[] {
  return wordKeys.flatMap((key) => (Object.hasOwn(value, key) ? [value[key] as JsonValue] : []));
}

function firstText(values: readonly (JsonValue | undefined)[], depth: number): string | undefined {
  for (const value of values) {
    const text = textIn(value, depth + 1);
    if (text !== undefined) return text;
  }
  return undefined;
}

function listed(texts: readonly (string | undefined)[], between = "; "): string | undefined {
  const said = texts.filter((text) => text !== undefined);
  return said.length === 0 ? undefined : said.join(between);
}

/** A gateway on the way may quote its upstream's error as JSON. */
function wordsOf(text: string, depth: number): string | undefined {
  const quoted = /^\s*[[{]/.test(text) && depth <= deepest ? jsonIn(text) : undefined;
  return (
    (typeof quoted === "object" ? textIn(quoted, depth + 1) : undefined) ?? asMessage(text, Number.POSITIVE_INFINITY)
  );
}

/** Control characters but for white space, and what stands for bytes that are no UTF-8. */
const garbage = /(?![\t\n\v\f\r])[\p{Cc}\ufffd]/u;
const page = /^\s*<[!?a-z]|<(?:html|body|head|!doctype)\b/i;

/** Returns a text that may be told, or nothing for a page, for garbage, and for what is longer. */
function asMessage(text: string, longest = longestText): string | undefined {
  const isTold = text.trim() !== "" && text.length <= longest && !page.test(text) && !garbage.test(text);
  return isTold ? text : undefined;
}

/** Returns the object that names the error: the one inside, or the whole. */
function innermost(outer: JsonObject): JsonObject {
  for (const value of [outer.error, outer.errors, outer.detail, outer.message, outer.base_resp, outer.fault]) {
    const inner = Array.isArray(value) ? value[0] : value;
    if (typeof inner === "object" && inner !== null && !Array.isArray(inner)) return inner;
  }
  return outer;
}

const codeKeys = [
  "code",
  "error_code",
  "errcode",
  "status",
  "status_code",
  "statusCode",
  "type",
  "error_type",
  "__type",
];

/** The code tells more than the type, and what is inside more than what is around it. */
function codesOf(error: JsonObject, outer: JsonObject): (string | number)[] {
  const details = Array.isArray(error.details) ? error.details.map((detail) => membersOf(detail).reason) : [];
  const named = [error, outer].flatMap((object) =>
    codeKeys.flatMap((key) => (Object.hasOwn(object, key) ? [object[key]] : [])),
  );
  return [...named, ...details].filter((code) => typeof code === "string" || typeof code === "number");
}

/** The field at fault; of FastAPI's errors its path, which begins with the body's own name. */
function paramOf({ param, loc }: JsonObject): string | undefined {
  if (typeof param === "string") return param;
  const path = Array.isArray(loc) ? pathOf(loc.filter((part, i) => i > 0 || part !== "body")) : "";
  return path === "" ? undefined : path;
}

function pathOf(loc: readonly JsonValue[]): string {
  return loc.filter((part) => typeof part === "string" || typeof part === "number").join(".");
}
