/**
 * Runs an attempt, and runs it again without what its server does not know where it refuses the request for that. Agents send such keys to
 * every server, and of a server that nobody knows it cannot be said which it takes.
 *
 * A chat server that refuses a key which OpenAI's API does not have gets no such keys, and one that refuses the role `developer`, or
 * instructions behind the first message, gets those as most take them. All other keys, and what else is refused, are left out by
 * their names: members of requests, as Claude Code's `context_management`, Codex's `client_metadata` and the encoding of vectors, which the
 * gateway mends itself, and values of `anthropic-beta`. The next calls with the same API key leave them out at once, until FurtherKeys
 * forgets it. What a model thought before, and another organisation has sealed or signed, is left out of the call alone. A server that only
 * streams, or does not, is asked for the other form of the answer. The caller sees all runs as one attempt.
 *
 * Sources: https://github.com/anthropics/claude-code/issues/21612, https://github.com/QuantumNous/new-api/issues/2975,
 * https://github.com/lidge-jun/opencodex/issues/4853
 */
import { isDeepStrictEqual } from "node:util";
import { Refusal } from "../../call/refusals.ts";
import {
  blocksOf,
  doneHereIn,
  isSameMember,
  memberAt,
  type RefusedMember,
  reasoningOf,
  schemalessOf,
  sealsOf,
  signaturesOf,
  typeAt,
} from "../../call/request/refused-members.ts";
import type { PlainFitters } from "../../providers/contract.ts";
import { catchError } from "../../runtime/maybe-promise.ts";
import type { RefusedKeys } from "../../targets/further-keys.ts";
import { isObject, type JsonObject, type JsonValue } from "../../wire/json.ts";
import type { Candidate } from "../complete/candidates.ts";
import { CallAttempt, type RunAttempt } from "./attempt.ts";
import { mayTellForms, otherForm, refusedForms } from "./refused-forms.ts";
import { type RefusedNames, refusedNames, saidIn } from "./refused-names.ts";
import { betasIn } from "./translate.ts";

/** mostRefusals is how often a request is sent again. Most servers name one key at a time. */
const mostRefusals = 8;
/** The most that is remembered of an API key: each of its calls is looked through for all of that. */
const [mostNames, longestName] = [64, 200];

const nothing: RefusedKeys = { forms: {}, members: [], betas: [] };

/** retryWithoutRefused returns a function that runs an attempt, and again for as long as its server refuses something more of the request. */
export function retryWithoutRefused(run: RunAttempt): RunAttempt {
  return (attempt) => {
    const { candidate, part } = attempt;
    const known = candidate.state.furtherKeys.refused(part.caller.keyId);
    const first = known ? without(attempt, known) : attempt;
    return catchError(
      () => run(first),
      (error) => runAgain(first, attempt, known ?? nothing, error, run),
    );
  };
}

/** runAgain leaves out what the server has refused, and what it refuses of the rest. */
async function runAgain(
  first: CallAttempt,
  attempt: CallAttempt,
  known: RefusedKeys,
  error: unknown,
  run: RunAttempt,
): Promise<CallAttempt> {
  let tried = first;
  let refused = known;
  let failure = error;
  let mistaken: Mistaken = { forms: {}, members: [], isForm: false };
  for (let times = 0; times < mostRefusals; times++) {
    const further = await furtherRefused(failure, tried, { refused, mistaken }, attempt.candidate.fitting?.plain);
    if (!further) break;
    const before = refused;
    refused = further;
    tried = without(attempt, refused);
    try {
      const answered = await run(tried);
      const members = refused.members.filter(({ isOnce }) => !isOnce);
      // A stream may be refused for what else is asked, and others are read as they come.
      const asked = refused.asked === "stream" ? refused.asked : undefined;
      attempt.candidate.state.furtherKeys.note(attempt.part.caller.keyId, { ...refused, members, asked });
      return answered;
    } catch (again) {
      // A server that says the same once more did not mean what was left out.
      if (saysSame(again, failure)) {
        mistaken = mistakenWith(mistaken, before, further);
        // The place that was tried is kept: the next try looks in the place after it.
        const { place } = further.forms;
        refused = {
          ...further,
          asked: before.asked,
          members: before.members,
          forms: place ? { ...before.forms, place } : before.forms,
        };
      }
      failure = again;
    }
  }
  throw failure;
}

/** saysSame reports whether two failures are one refusal in the same words, but for ids. */
function saysSame(one: unknown, other: unknown): boolean {
  if (!(one instanceof Refusal) || !(other instanceof Refusal) || wordsOf(one) !== wordsOf(other)) return false;
  return isDeepStrictEqual(refusedNames(one)?.named, refusedNames(other)?.named);
}

/** wordsOf returns what a refusal says, without ids: a long word with a digit may be one. */
function wordsOf(refusal: Refusal): string {
  return saidIn(refusal).replace(/[\w-]{8,}/g, (word) => (/\d/.test(word) ? "" : word));
}

function without({ modelCall, part, candidate, signal, isHedge }: CallAttempt, refused: RefusedKeys): CallAttempt {
  const fitting = candidate.fitting?.plain(refused.forms) ?? candidate.fitting;
  const left: Candidate = { ...candidate, fitting, refused };
  return new CallAttempt(modelCall, part, left, signal, isHedge);
}

/** furtherRefused returns what was refused, with what a failure says; undefined where that is nothing new. */
async function furtherRefused(
  error: unknown,
  tried: CallAttempt,
  { refused, mistaken }: Known,
  plain: PlainFitters | undefined,
): Promise<RefusedKeys | undefined> {
  // Without a record the gateway has refused the call, before it was sent.
  if (!tried.record || !(error instanceof Refusal) || !mayTellForms(error)) return undefined;
  const asked = refused.asked || mistaken.isForm ? undefined : otherForm(error, tried);
  if (asked) return { ...refused, asked };
  const known = { refused: refused.forms, mistaken: mistaken.forms };
  const names = refusedNames(error);
  const earlier = [...refused.members, ...mistaken.members];
  const isNew = (one: RefusedMember) => !earlier.some((known) => isSameMember(known, one));
  // A switch of reasoning is refused for what it says, and not because it is unknown.
  const isSwitch = names !== undefined && reasoningOf(tried.translated.request.outline(), names.unwanted).some(isNew);
  const isForm = plain && tried.candidate.operation === "chat" && !isSwitch;
  const forms = isForm && (await refusedForms(error, tried, known, plain));
  if (forms) return { ...refused, forms };
  const done = toldDoneHere(error, tried).filter(isNew);
  if (done.length > 0) return { ...refused, members: [...refused.members, ...done] };
  return names && withNames({ refused, mistaken }, names, tried);
}

/** toldDoneHere returns the members in a refusal that the gateway does itself: it asks again without them, whatever is said of them. */
function toldDoneHere(error: Refusal, { translated, candidate, modelCall }: CallAttempt): readonly RefusedMember[] {
  const said = saidIn(error);
  // The gateway asks for the usage of a stream, also where its caller does not.
  const asked = candidate.refused?.asked ?? modelCall.form;
  const options = asked === "stream" ? { stream_options: {} } : {};
  const request: JsonObject = { ...options, ...translated.request.outline() };
  const done = doneHereIn(request, candidate.operation);
  return done.filter(({ path: [key = ""] }) => said.includes(key) && !saysOther(said, request[key]));
}

/** optionSaid finds the member that stands behind the options of a stream in a refusal. */
const optionSaid = /\bstream_options\W{1,8}(\w+)/g;

/** saysOther reports whether a refusal names another of these options than the usage: that is left out by its name. */
function saysOther(said: string, options: JsonValue | undefined): boolean {
  if (!isObject(options)) return false;
  return said.matchAll(optionSaid).some(([, name = ""]) => name !== "include_usage" && Object.hasOwn(options, name));
}

/** Known is what is known of a server's refusals: what it refuses, and what it turned out not to have meant in this call. */
interface Known {
  readonly refused: RefusedKeys;
  readonly mistaken: Mistaken;
}

interface Mistaken extends Pick<RefusedKeys, "forms" | "members"> {
  /** isForm is whether that was the form of the answer, too. */
  readonly isForm: boolean;
}

/** mistakenWith returns what was not meant, with what was left out between `before` and `further`. */
function mistakenWith({ forms, members, isForm }: Mistaken, before: RefusedKeys, further: RefusedKeys): Mistaken {
  const isNew = ([form]: readonly [string, unknown]) => !Object.hasOwn(before.forms, form);
  const added = Object.fromEntries(Object.entries(further.forms).filter(isNew));
  return {
    forms: { ...forms, ...added },
    members: [...members, ...further.members.slice(before.members.length)],
    isForm: isForm || further.asked !== before.asked,
  };
}

/** withNames returns undefined where the names are none of what was sent, or there are too many. */
function withNames(
  { refused: { forms, asked, members, betas }, mistaken: { members: mistaken } }: Known,
  said: RefusedNames,
  tried: CallAttempt,
): RefusedKeys | undefined {
  const found = membersSaid(said, tried, mistaken);
  const fresh = [...found.entries()].flatMap(([i, one]) => {
    const earlier = [...members, ...mistaken, ...found.slice(0, i)];
    return earlier.some((known) => isSameMember(known, one)) ? [] : one;
  });
  const sent = betasIn(tried.part.header("anthropic-beta")).filter((beta) => !betas.includes(beta));
  const refusedBetas = said.betas === "all" ? sent : sent.filter((beta) => said.betas.includes(beta));
  const names = [...fresh.map(({ path }) => path.join(".")), ...refusedBetas];
  const known = members.length + betas.length;
  if (names.length === 0 || known + names.length > mostNames || names.some((name) => name.length > longestName))
    return undefined;
  return { forms, asked, members: [...members, ...fresh], betas: [...betas, ...refusedBetas] };
}

/** membersSaid returns the members of a request that a refusal names: of several paths in one text the first that leads to any. */
function membersSaid(
  said: RefusedNames,
  { translated, candidate: { operation } }: CallAttempt,
  mistaken: readonly RefusedMember[],
): readonly RefusedMember[] {
  const request = translated.request.outline();
  const firstOf = (paths: RefusedNames["further"]): readonly RefusedMember[] => {
    for (const path of paths) {
      const member = memberAt(request, path, operation);
      if (member && !mistaken.some((one) => isSameMember(one, member))) return [member];
    }
    return [];
  };
  const placed = said.blocks.map((place) => typeAt(request, place));
  const blocks = blocksOf(request, new Set([...said.types, ...placed]), operation);
  const signatures = said.areSignatures ? signaturesOf(request) : [];
  const seals = [...(said.areSeals || said.areSignatures ? sealsOf(request) : []), ...signatures];
  const tools = said.areSchemaless ? schemalessOf(request, operation) : [];
  const marked = [...said.named.flatMap(firstOf), ...blocks, ...seals, ...tools];
  if (marked.length > 0) return marked;
  // A refusal may quote the request, and so speak of reasoning by chance. Where it names members, these alone are left out.
  const reasoning = reasoningOf(request, said.unwanted);
  return reasoning.length > 0 ? reasoning : firstOf(said.further);
}
