/**
 * Reads in a refusal of vectors whether the inputs were too many, or of a form that the server does not take. Where that cannot be told for
 * sure, it is neither: the length of a text is another matter than the length of the list.
 */
import { Reason, Refusal } from "../../../call/refusals.ts";
import { lacksVectors } from "../../frames/vectors.ts";

/** The statuses of a refusal for what a request holds: 413 is for how much it is. */
const ofForm: ReadonlySet<number> = new Set([400, 422]);
const ofNumber: ReadonlySet<number> = new Set([...ofForm, 413]);
/** Characters of a message that are searched. */
const maxSaid = 500;

/** saidBy returns what a server says by such a status; undefined for any other failure, and for texts that are too long. */
function saidBy(error: unknown, statuses: ReadonlySet<number>): string | undefined {
  if (!(error instanceof Refusal) || error.reason !== Reason.UPSTREAM_REFUSED) return undefined;
  if (!statuses.has(error.status) || error.openaiCode === "context_length_exceeded") return undefined;
  return error.message.slice(0, maxSaid);
}

const items = "(?:inputs?|texts?|items?|documents?|strings?|elements?|entries|sentences?)\\b";
const lists = [
  ...["batch[ _-]?size", `(?:number|count) of ${items}`, "(?:input|text|item)s?[ _-](?:list|array|count)"],
  ...["(?:list|array)[ _-](?:length|size|count)", "array"],
];
/** list matches the words for a list of inputs, or for its length. */
const list = `(?:${lists.join("|")})\\b`;
const comparisons = [
  ...["at most", "up to", "no more than", "less than or equal to", "(?:larger|greater|more|longer) than"],
  ...["max(?:imum)?", "limit(?:ed)?", "exceed(?:s|ed|ing)?"],
];
/** most matches the words and signs that stand before the greatest number that a server takes. */
const most = `(?:(?:${comparisons.join("|")})\\b|<=|[>≤])`;
/** number matches a whole number that is no part of a word or of another number. */
const number = "(?<![\\w.,-])(?<most>\\d{1,6})(?![\\w-]|[.,]\\d)";

/** counted find the greatest number of inputs that a server names, in English and in Chinese. */
const counted: readonly RegExp[] = [
  `\\b${list}.{0,60}?\\d\\)? ?(?:>|(?:exceeds?|is (?:larger|greater|more) than)\\b)[^\\d.]{0,30}?${number}`,
  `${most}(?: of| is)? ${number} (?:${items}|requests can be in one batch)`,
  `\\b${list}.{0,60}?${most}[^\\d.]{0,30}?${number}`,
  `${most}.{0,20}?\\b${list}[^\\d.]{0,15}?${number}`,
  `(?:数组|批量|批次|条数|数量)[^\\d。]{0,20}?(?:最大|最多|超过|大于|上限)[^\\d。]{0,10}?${number}`,
  `最多[^\\d。]{0,10}?${number} ?[条个]`,
].map((pattern) => new RegExp(pattern, "i"));

/** uncounted finds that there are too many inputs where a server names no number. */
const uncounted = new RegExp(
  `\\btoo many ${items}|\\b(?:array|list) (?:is )?too long\\b|\\b${list} (?:is )?(?:too (?:large|big|long)\\b|exceed)`,
  "i",
);

/** ofLength matches words for the length of a text, and for what a server computes at once. A refusal with one is not for the list. */
const ofLength = /tokens?\b|\bcharacters?\b|\bcontext\b|\bphysical\b|字符|(?<!数组)长度/i;

/** boundsIn returns what a message names as the most inputs, if anything; undefined where it speaks of something else than their number. */
function boundsIn(said: string): readonly number[] | undefined {
  if (ofLength.test(said)) return undefined;
  const bounds = counted.flatMap((pattern) => pattern.exec(said)?.groups?.most ?? []).map(Number);
  return bounds.length > 0 || uncounted.test(said) ? bounds : undefined;
}

/** bearableIn returns how many of these inputs may be asked for at once; undefined where a failure is for anything else. */
export function bearableIn(error: unknown, inputs: number): number | undefined {
  const said = saidBy(error, ofNumber);
  const bounds = said === undefined || inputs < 2 ? undefined : boundsIn(said);
  if (bounds?.length === 0) return Math.ceil(inputs / 2);
  // A bound that the list keeps was not what it was refused for.
  return bounds?.find((bound) => bound >= 1 && bound < inputs);
}

/** saysText finds that an input has to be a text: servers name its type, its member, or what they got. */
const saysText =
  /\binputs?\b|\bstr(?:ing)?s?\b|\btexts?\b|\btokens? (?:ids?|arrays?|lists?)\b|\b(?:int|number|integer|array)\b/i;

/** isOfForm reports a failure that may be for the form of the inputs: some servers read tokens as nothing at all. */
export function isOfForm(error: unknown): boolean {
  if (error instanceof Refusal && error.fault === lacksVectors) return true;
  const said = saidBy(error, ofForm);
  return said !== undefined && saysText.test(said) && boundsIn(said) === undefined;
}
