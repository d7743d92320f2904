/**
 * Reads an upstream's error in any shape. It is the only reader, for error answers, for streams and for errors in
 * place of an answer.
 *
 * Servers that call themselves compatible put the message into `error.message`, `error`, `message`, `detail`,
 * `errors`, lists of these, or plain text. HTML pages and garbage are of no use to a caller and are never passed on.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject, parsedJson } from "../../wire/json.ts";
import { membersOf } from "../usage/count.ts";

export interface ErrorFields {
  /** The message for people. */
  readonly message: string | undefined;
  /** Names and numbers of the error as they came, innermost first. */
  readonly codes: readonly (string | number)[];
  readonly param: string | undefined;
  /** isOpenAi is whether the body has the shape of OpenAI's family, or of Anthropic's. */
  readonly isOpenAi: boolean;
  readonly isAnthropic: boolean;
  /** isText is whether the body is plain text, as from a proxy on the way. */
  readonly isText: boolean;
  /** The error object in its own shape. */
  readonly error: JsonObject;
}

/** The longest plain text that is a message, in characters. Longer texts are pages or traces. */
const longestText = 2000;
/** The depth to which a body is searched, and the number of list items that are reported. */
const deepest = 5;
const mostOfList = 5;

/** readErrorBody reads the body of an error answer. */
export function readErrorBody(body: Buffer): ErrorFields {
  const written = body.toString();
  const text = written.trim(); // This also removes a byte order mark.
  const json = jsonIn(text);
  if (json !== undefined && typeof json !== "string") {
    const read = readErrorJson(json);
    const words = read.message === undefined ? { ...read, message: wrappedText(json) } : read;
    // An error in a frame, or after a byte order mark, is rewritten rather than passed on.
    return bare.test(written) ? words : { ...words, isOpenAi: false, isAnthropic: false };
  }
  // A proxy may have written the JSON as a text.
  if (typeof json === "string" && bare.test(json) && jsonIn(json) !== undefined)
    return { ...readErrorBody(Buffer.from(json)), isOpenAi: false, isAnthropic: false };
  const inXml = /<message>([^<]{1,2000})<\/message>/i.exec(text.slice(0, longestText))?.[1];
  return { ...silent, isText: true, message: asMessage(json ?? inXml ?? text) };
}

const bare = /^[ \t\r\n]*\{/;

/** readErrorJson reads a parsed error. */
export function readErrorJson(json: JsonValue): ErrorFields {
  const given = membersOf(Array.isArray(json) ? json[0] : json);
  const exception = errorInEnvelope(given) ?? exceptionIn(given);
  const outer = exception ?? given;
  const error = innermost(outer);
  const { type, message } = membersOf(outer.error);
  const isWorded = typeof message === "string" && !Array.isArray(json) && asMessage(message) !== undefined;
  return {
    message: textIn(exception ?? json, 0),
    codes: codesOf(error, outer),
    param: paramOf(error),
    isOpenAi: isWorded,
    isAnthropic: isWorded && outer.type === "error" && typeof type === "string",
    isText: false,
    error,
  };
}

/** errorInEnvelope returns the error that Tencent and Volcengine have within an envelope, as a body that has it at its usual place. */
function errorInEnvelope({ Response, ResponseMetadata }: JsonObject): JsonObject | undefined {
  const { Error: error } = membersOf(Response ?? ResponseMetadata);
  return isObject(error) ? { error } : undefined;
}

/** exceptionName matches what AWS calls its errors: `throttlingException`, `ModelStreamError`, `InternalStreamFailure`. */
const exceptionName = /[a-z](?:Exception|Error|Failure|Fault)$/;

/** isExceptionName reports whether the name of an event, a type or a member is that of an error. */
export function isExceptionName(name: JsonValue | undefined): name is string {
  return typeof name === "string" && exceptionName.test(name);
}

/**
 * exceptionIn returns an error that is told by its name alone, with this name as its type: AWS's streams have the error in a member of that
 * name, and other servers have it as the type. It returns undefined for anything else, and for all that is an answer or a part of one.
 */
export function exceptionIn(json: JsonObject): JsonObject | undefined {
  if (json.type !== undefined) return isExceptionName(json.type) ? json : undefined;
  if (json.choices !== undefined || json.object !== undefined) return undefined;
  const name = Object.keys(json).find((key) => isExceptionName(key) && textIn(json[key], 0) !== undefined);
  if (name === undefined) return undefined;
  const told = json[name] ?? null;
  return isObject(told) ? { ...told, type: name } : { type: name, message: told };
}

const silent: ErrorFields = {
  message: undefined,
  codes: [],
  param: undefined,
  isOpenAi: false,
  isAnthropic: false,
  isText: false,
  error: {},
};

/** jsonIn returns the JSON of a body: the whole body, or the first data of a stream. Undefined for anything else, such as a proxy's page. */
function jsonIn(text: string): JsonValue | undefined {
  const data = /^(?:event:[^\n]{0,100}\n)?data:([^\n]*)/.exec(text)?.[1];
  return parsedJson(data ?? text);
}

/** The longest error list that is read, in bytes. */
const longestList = 64 * 1024;

/** firstOfList returns the first object of a list: Google's errors come this way. */
export function firstOfList(bytes: Buffer): JsonObject | undefined {
  if (bytes[0] !== 0x5b || bytes.length > longestList) return undefined;
  const list = jsonIn(bytes.toString());
  return Array.isArray(list) && membersOf(list[0]) === list[0] ? list[0] : undefined;
}

/** The members that may hold the message, best first. Those that may only name a status come last. */
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
  // A path of the whole body says nothing.
  if (typeof msg === "string" && Array.isArray(loc))
    return asMessage(pathOf(loc) === "body" ? msg : `${pathOf(loc)}: ${msg}`);
  // An object says more than a string beside it, which may only name the status.
  const inner = [error, errors].filter((member) => typeof member === "object" && member !== null);
  const found = firstText(inner, depth) ?? firstText(wordsIn(value), depth);
  const raw = textIn(membersOf(value.metadata).raw ?? value.originalMessage ?? value.OriginalMessage, depth + 1);
  return raw === undefined || raw === found ? found : listed([found, raw], ": ");
}

/** wrapperKeys are the members around an error in shapes of single vendors: Tencent, Volcengine, iFlytek, gRPC, and others. */
const wrapperKeys: readonly string[] = [
  ...["Response", "ResponseMetadata", "Error", "header", "status", "result", "data", "message", "cause", "exception"],
  ...["content", "info", "text", "error", "errors"],
];

/** speaking finds names like those of messages: `retmsg`, `resultMsg`, `ErrorMessage`, `desc`. */
const speaking = /(?:msg|message|desc|description|err|error|reason|info|text)s?$/i;
/** The members of an object that are looked at. */
const mostOfObject = 20;

/**
 * wrappedText returns the message of an error answer in which no member has a usual name: within another, by a name like a usual one, or by
 * the fields that it concerns, as in `{"temperature": ["…"]}`. Objects that come in place of an answer are not read so: they may be no errors.
 */
function wrappedText(value: JsonValue | undefined, depth = 0): string | undefined {
  if (Array.isArray(value)) return listed(value.slice(0, mostOfList).map((item) => wrappedText(item, depth + 1)));
  if (!isObject(value) || depth > deepest) return undefined;
  for (const key of wrapperKeys) {
    const member = Object.hasOwn(value, key) ? value[key] : undefined;
    const isStatus = key === "status" && typeof member === "string";
    const text = isStatus ? undefined : (textIn(member, depth + 1) ?? wrappedText(member, depth + 1));
    if (text !== undefined) return text;
  }
  for (const [key, member] of Object.entries(value).slice(0, mostOfObject)) {
    const text =
      isObject(member) || speaking.test(key)
        ? (textIn(member, depth + 1) ?? wrappedText(member, depth + 1))
        : undefined;
    if (text !== undefined) return text;
  }
  const lists = Object.entries(value).filter(([, member]) => Array.isArray(member));
  const texts = lists.slice(0, mostOfList).map(([name, member]): string | undefined => {
    const text = textIn(member, depth + 1);
    return text === undefined ? undefined : `${name}: ${text}`;
  });
  return listed(texts);
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

/** Control characters other than white space, and the replacement for bytes that are not UTF-8. */
const garbage = /(?![\t\n\v\f\r])[\p{Cc}\ufffd]/u;
const page = /^\s*<[!?a-z]|<(?:html|body|head|!doctype)\b/i;

/** asMessage returns a text that may be passed on; undefined for pages, garbage and long texts. */
function asMessage(text: string, longest = longestText): string | undefined {
  const isTold = text.trim() !== "" && text.length <= longest && !page.test(text) && !garbage.test(text);
  return isTold ? text : undefined;
}

/** innermost returns the object that names the error: the inner one, or the whole. */
function innermost(outer: JsonObject): JsonObject {
  for (const value of [outer.error, outer.errors, outer.detail, outer.message, outer.base_resp, outer.fault]) {
    const inner = Array.isArray(value) ? value[0] : value;
    if (isObject(inner)) return inner;
  }
  return outer;
}

const codeKeys = [
  "code",
  "Code",
  "error_code",
  "errorCode",
  "ErrorCode",
  "errcode",
  "status",
  "status_code",
  "statusCode",
  "type",
  "error_type",
  "__type",
  "reason",
  "originalStatusCode",
  "OriginalStatusCode",
];

/** The code says more than the type, and the inner object more than the outer one. */
function codesOf(error: JsonObject, outer: JsonObject): (string | number)[] {
  const details = Array.isArray(error.details)
    ? error.details.map((detail) => membersOf(detail).reason)
    : [detailCodeOf(error), faultCodeOf(error)];
  const named = [error, outer].flatMap((object) =>
    codeKeys.flatMap((key) => (Object.hasOwn(object, key) ? [object[key]] : [])),
  );
  return [...named, ...details].filter((code) => typeof code === "string" || typeof code === "number");
}

/** detailCodeOf returns the code that Anthropic gives beside a type that is less exact; undefined where there is none. */
export function detailCodeOf({ details }: JsonObject): string | undefined {
  const { error_code: code } = membersOf(details);
  return typeof code === "string" ? code : undefined;
}

/** faultCodeOf returns the code that Apigee's gateways give within a fault; undefined where there is none. */
function faultCodeOf({ detail }: JsonObject): string | undefined {
  const { errorcode: code } = membersOf(detail);
  return typeof code === "string" ? code : undefined;
}

/** paramOf returns the field at fault. FastAPI's errors give a path, which begins with `body`. */
function paramOf({ param, loc }: JsonObject): string | undefined {
  if (typeof param === "string") return param;
  const path = Array.isArray(loc) ? pathOf(loc.filter((part, i) => i > 0 || part !== "body")) : "";
  return path === "" ? undefined : path;
}

function pathOf(loc: readonly JsonValue[]): string {
  return loc.filter((part) => typeof part === "string" || typeof part === "number").join(".");
}
