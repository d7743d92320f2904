/** Reads in a refusal which members of a request, and which values of `anthropic-beta`, its server does not know. */
import type { JsonValue } from "@bufbuild/protobuf";
import type { Refusal } from "../../call/refusals.ts";
import type { Wanted } from "../../call/request/reasoning-switches.ts";
import { type BlockPlace, dispensable } from "../../call/request/refused-members.ts";
import { isObject, listOrEmpty, parsedJson } from "../../wire/json.ts";

export interface RefusedNames {
  /** named has what each text names, as the words of paths of which the first that leads to a member is meant. */
  readonly named: readonly Paths[];
  /** further has what may be a name where none of those is: words that stand there bare, and texts beside what is said. */
  readonly further: Paths;
  /** betas are the values that are named, or `all` where the server names none. */
  readonly betas: readonly string[] | "all";
  /** types are those of blocks that are named as unknown. */
  readonly types: readonly string[];
  /** areSeals is whether it says that a seal of what a model thought before is none of this server's. */
  readonly areSeals: boolean;
  /** areSignatures is whether it says that a signature of what a model thought is missing, or none of this server's. */
  readonly areSignatures: boolean;
  /** areSchemaless is whether it says that a tool has no schema. */
  readonly areSchemaless: boolean;
  /** unwanted is what the model does not do, or cannot leave: reasoning, or none. */
  readonly unwanted: Wanted | undefined;
  /** blocks are places of blocks whose type is none of those that the server knows. */
  readonly blocks: readonly BlockPlace[];
}

type Paths = readonly (readonly string[])[];

// An API key is no member.
const [member, members] = [
  "(?:parameter|field|argument|(?<!\\bapi[ _-]?)key|property)",
  "(?:parameter|field|argument|key|propert)(?:s|y|ies)?",
];
const [unknown, notTaken] = [
  "(?:unknown|unsupported|unexpected|unrecogni[sz]ed)",
  "(?:not (?:supported|allowed|permitted|recogni[sz]ed)|un(?:known|supported|expected))",
];

/** How servers say that they take one of two members alone: the later is left out, as Claude's `top_p` beside a temperature is. */
const saysOneOf = /\b(?:cannot|can't|may not|must not) both be\b|\bonly one of\b/i;

/**
 * How servers say that they do not know a member, or take it as it is without being asked alone. What else they say of a value, as that it is too
 * large, is another matter.
 */
const saysUnknown = new RegExp(
  [
    saysOneOf.source,
    "only the default\\b.{0,20}\\bvalue is supported|only \\S{1,20} is allowed for this model|[\"'`] is deprecated",
    "extra inputs are not permitted|extra_forbidden|additional propert|cannot find field|no such field",
    `${unknown}[ _](?:request |keyword )?(?:${member}|name)`,
    `\\b${member}\\b.{0,80}\\b(?:(?:is|are) )?${notTaken}`,
    `(?:does not|do not|doesn't) (?:support|accept|allow|recogni[sz]e|know)\\b.{0,60}\\b${members}\\b`,
    ` (?<=(?:["'\`]|\\w_\\w{1,100}) )(?:is|are) ${notTaken}`,
    `not an? (?:supported|known|valid|recogni[sz]ed|allowed) ${member}`,
    `(?:^|[.:] *)${notTaken}\\s*:`,
    "(?:不支持|未知|无法识别|多余).{0,10}(?:参数|字段|属性)|(?:参数|字段|属性).{0,80}(?:不支持|不允许|无法识别)",
  ].join("|"),
  "is",
);
/** saysValue is how a value is spoken of: what stands there bare may be that, or the member that has it. */
const saysValue = /values?\b|must be|at (?:most|least)|range|between|取值/i;

/**
 * quoted also finds the keys of JSON within a text, but for the colon behind them: Groq has one behind the place of a message. `before` looks back from what stands behind a name: to try
 * each beginning of a long word takes time by the square of its length, and a refusal may quote what its caller wrote.
 */
const quoted = /["'`]([\w$][\w$.[\]-]*)["'`](?:(?!\s*:)|(?<=\.\d{1,6}["'`]))/g;
const before =
  /(?::|\r?\n)(?<=([\w$][\w$.[\]-]{0,199})(?::|\r?\n))\s*(?:extra inputs are not permitted|un(?:known|supported|expected|recogni[sz]ed) )/gi;
const behind = /(?:parameter|argument|field|property|key)s?(?:\(s\))?(?: supplied)?:?\s+([A-Za-z_$][\w$.[\]-]*)/gi;
const bare = /[A-Za-z_$][\w$.[\]-]*/g;
const onlyName = /^[A-Za-z_$][\w$.[\]-]{0,199}$/;
/** located finds what Pydantic says of a member's place, as JSON or as Python prints it. */
const located = /[[(]\s*["']body["']\s*,([^\])]{1,500})[\])]/g;

/** maxSaid is how much of a refusal is looked into, in characters. */
export const maxSaid = 10_000;
/** maxRead is how much of its body is searched for types, in bytes: Pydantic tells the whole conversation before them. */
const maxRead = 64 * 1024;
/** The most names in one text that are tried: each is, within each other. */
const mostNames = 24;
/** The most further names that are tried. */
const mostFurther = 100;
/** deepest is how deep texts may stand in the body of a refusal. */
const deepest = 6;

/** saidIn returns what a refusal says: its message, and as much of its server's answer as is looked into. */
export function saidIn({ message, answered }: Refusal): string {
  return `${message} ${answered?.toString("utf8", 0, maxSaid) ?? ""}`;
}

/** refusedNames returns undefined where a refusal says nothing of the kind. */
export function refusedNames({ message, answered }: Refusal): RefusedNames | undefined {
  const whole = answered?.toString("utf8", 0, maxRead) ?? "";
  const body = whole.slice(0, maxSaid);
  const told = message.slice(0, maxSaid);
  const texts = textsIn(parsedJson(body) ?? body);
  const said = [told, ...texts];
  const betas = betasIn(said);
  const telling = said.filter((text) => saysUnknown.test(text));
  const places = telling.length > 0 ? placesIn(body).map((place) => [place]) : [];
  const named = [...telling.map(pathsIn), ...places].filter((paths) => paths.length > 0);
  const further = furtherIn(telling, texts);
  const types = typesIn([told, whole]);
  const blocks = blocksIn(told);
  const areSeals = [told, body].some((text) => saysForeignSeal.test(text));
  const areSignatures = [told, body].some((text) => saysForeignSignature.test(text));
  const unwanted = unwantedIn([told, body]);
  const lists = [named, further, types, blocks, betas];
  const areSchemaless = [told, body].some((text) => saysNoSchema.test(text));
  const flags = { areSeals, areSignatures, areSchemaless, unwanted };
  const isNothing = lists.every((list) => list.length === 0) && Object.values(flags).every((flag) => !flag);
  return isNothing ? undefined : { named, further, betas, types, blocks, ...flags };
}

/** saysNoSchema finds how vLLM, SGLang and others that check by Pydantic, Xinference and MiniMax say that a tool has no schema. */
const saysNoSchema =
  /\btools\b[^\w]{1,9}\d{1,6}\b[^{}]{0,60}\b(?:input_schema|parameters)\b[^{}]{0,40}(?:field required|missing|is required)|\btools? requires?\b.{0,60}\binput_schema\b|\bfunction (?:name or )?parameters (?:is|are) (?:empty|missing|required)\b/i;

/** ofAspect are words behind `reasoning` by which a server speaks of a degree, a kind or a part of it; aKind are such words before it. */
const ofAspect =
  "(?:(?:effort|level|budget|type|mode|kind|content|item|block|token|trace)s?|summar(?:y|ies)|history|with|when|and|in)";
const aKind = "(?:adaptive|interleaved|preserved|budgeted|manual)";
/** leaving are words for switching it off. */
const leaving = "(?:disabling|turning off|switching off)";
/**
 * saysNoReasoning finds how servers say that a model does not reason. Sources: Ollama (server/routes.go), SGLang
 * (entrypoints/openai/serving_chat.py), https://github.com/CherryHQ/cherry-studio/pull/18744
 */
const saysNoReasoning = new RegExp(
  [
    String.raw`\b(?:does not|doesn't|do not|don't) support (?:extended )?(?:thinking|reasoning)\b(?![-_. ]{0,9}(?:[("'\`]|(?:\w{1,40} )?${ofAspect}\b))`,
    String.raw`(?<!\b(?:${aKind}|${leaving}) )\b(?:thinking|reasoning) is not supported (?:for|by|with|on) (?:the |this )?(?:selected )?models?\b`,
  ].join("|"),
  "i",
);

/**
 * saysAlwaysReasons finds how they say that it always does. Sources: https://github.com/earendil-works/pi/issues/8454, SGLang, Google, Alibaba
 */
const saysAlwaysReasons = new RegExp(
  [
    String.raw`\b(?:reasoning|thinking)\b.{0,80}\b(?:is mandatory|always[- ]on|(?:cannot|can't|can not) be (?:disabled|turned off|switched off))`,
    String.raw`\bonly works in thinking mode|\benable_thinking\b.{0,40}\brestricted to true`,
    String.raw`\b${leaving} (?:reasoning|thinking) is not supported`,
  ].join("|"),
  "is",
);

function unwantedIn(said: readonly string[]): RefusedNames["unwanted"] {
  if (said.some((text) => saysAlwaysReasons.test(text))) return "none";
  return said.some((text) => saysNoReasoning.test(text)) ? "reasoning" : undefined;
}

/**
 * How servers say that another organisation, tenant or vendor has sealed what a model thought. Sources:
 * https://github.com/experientiallabs/experiential/pull/965, https://github.com/anomalyco/opencode/issues/49116,
 * https://github.com/lidge-jun/opencodex/pull/2229
 */
const saysForeignSeal = new RegExp(
  [
    "invalid_encrypted_content",
    String.raw`encrypted[_ ]content\b[^.]{0,100}\b(?:verified|decrypted|issued|invalid)`,
    String.raw`encrypted[_ ]content\b (?:is|are) not (?:supported|allowed|accepted)`,
    String.raw`(?:decrypt|verify|parse|invalid)\b[^.]{0,60}\bencrypted[_ ]content`,
    String.raw`invalid [\\"'\`]*signature[\\"'\`]* (?:in|for|of) [\\"'\`]*(?:redacted_)?thinking`,
  ].join("|"),
  "i",
);

/**
 * How servers of Gemini's models say that another model, key or server has signed what was thought before, or that nobody has. Sources:
 * https://github.com/decolua/9router/issues/4136, https://github.com/lbjlaq/Antigravity-Manager/pull/3342
 */
const saysForeignSignature = new RegExp(
  [
    String.raw`\b(?:invalid|corrupted|unverified|malformed) [\\"'\`]*thought[_ ]?signature`,
    String.raw`\bthought[_ ]?signature[\\"'\`]* (?:is|was|are) (?:not valid|invalid|corrupted|missing|required)`,
    String.raw`\bmissing (?:an? |the |its )?[\\"'\`]*thought[_ ]?signature`,
  ].join("|"),
  "i",
);

/** inputTold finds what Pydantic got in place of what it expected, which is the type of a block or a conversation that begins with one. */
const inputTold = /\\?["']input\\?["']\s*:\s*(?:\[\{\\?["']type\\?["']\s*:\s*)?\\?["'](\w+)\\?["']/g;

/** How servers say that they do not know the type of a block: Pydantic by what it got, Serde by the variant, others in words. */
const unknownTypes = [
  /Input should be (?:(?!\\?["']input)[^{}]){0,40}["']text\\?["'](?:(?!\\?["']input)[^{}]){0,400}\\?["']input\\?["']\s*:\s*\\?["'](\w+)/g,
  /(?:unknown variant|input tag|(?:unknown|unsupported|invalid|unexpected|unrecogni[sz]ed) (?:\w{1,40} )?(?:content |message )?(?:block |part )?types?):?\s*[\\"'`]*(\w+)/gi,
  /\b(?:block|part|content|type)s? (?:of type )?[\\"'`]+(\w+)[\\"'`]+ (?:is|are) (?:not|un)/gi,
  /\b(\w+) (?:history|blocks?) (?:is|are) not (?:supported|allowed)/gi,
];

/** typesIn returns the types that may be left out or told as texts. What Pydantic got elsewhere may be anything that was sent. */
function typesIn(said: readonly string[]): string[] {
  const wordsBy = (pattern: RegExp) =>
    said.flatMap((text) => [...text.matchAll(pattern)].slice(0, mostNames).map(([, type = ""]) => type));
  const got = wordsBy(inputTold).filter((type) => dispensable.has(type));
  return [...new Set([...got, ...unknownTypes.flatMap(wordsBy)])];
}

/** typeOfBlock finds what FastAPI and vLLM say of a block's type, with the names of types of their own between the places. */
const typeOfBlock =
  /messages\.(\d+)\.content\.(?:[^.:;\s]+\.){0,3}?(\d+)\.((?:[^.:;\s]+\.){0,3})type(?::|', 'msg':) ["']?Input should be/g;

function blocksIn(said: string): BlockPlace[] {
  const places = [...said.matchAll(typeOfBlock)].slice(0, mostNames);
  return places.map(([, turn, block, within = ""]) => ({
    turn: Number(turn),
    block: Number(block),
    within: wordsOf(within),
  }));
}

function textsIn(json: JsonValue, depth = 0): string[] {
  if (typeof json === "string") return [json];
  if (depth > deepest) return [];
  const values = isObject(json) ? Object.values(json) : listOrEmpty(json);
  return values.flatMap((value) => textsIn(value, depth + 1));
}

/** pathsIn returns the paths in a text. Some servers name the object first, and then its member: that comes before one of the request. */
function pathsIn(text: string): Paths {
  const names = [quoted, before, behind].flatMap((pattern) => [...text.matchAll(pattern)].map(([, name = ""]) => name));
  const paths = [...new Set(names)].slice(0, mostNames).map(wordsOf);
  const single = paths.filter((path) => path.length === 1);
  const within = paths.filter((path) => path.length > 1).flatMap((path) => single.map((word) => [...path, ...word]));
  return saysOneOf.test(text) ? paths.reverse() : [...within, ...paths];
}

/** furtherIn finds names that nothing marks. A server that quotes names has quoted the one that it means. */
function furtherIn(telling: readonly string[], texts: readonly string[]): Paths {
  if (telling.length === 0 || telling.some((text) => saysValue.test(text))) return [];
  const unquoted = telling.filter((text) => text.search(quoted) < 0);
  const words = unquoted.flatMap((text) => text.match(bare) ?? []);
  const alone = texts.filter((text) => onlyName.test(text));
  if (unquoted.some((text) => saysOneOf.test(text))) words.reverse();
  return [...new Set([...words, ...alone])].slice(0, mostFurther).map(wordsOf);
}

function wordsOf(path: string): string[] {
  return path.split(/[.[\]]+/).filter((word) => word !== "");
}

function placesIn(body: string): string[][] {
  return [...body.matchAll(located)].map(([, words = ""]) => words.match(/[\w$-]+/g) ?? []);
}

/** betasIn reads what Anthropic, Vertex and Bedrock say; the latter does not name the value. */
function betasIn(said: readonly string[]): RefusedNames["betas"] {
  if (said.some((text) => /invalid beta flag/i.test(text))) return "all";
  const texts = said.filter(
    (text) => /anthropic-beta/i.test(text) && /unexpected|invalid|unknown|unsupported/i.test(text),
  );
  return texts.flatMap((text) =>
    [...text.matchAll(/[`'"]([\w.-]+-\d{4}-?\d{2}-?\d{2})[`'"]/g)].map(([, beta = ""]) => beta),
  );
}
