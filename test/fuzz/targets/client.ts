/**
 * The gateway's own HTTP/1.1 client against undici: answers of all kinds in pieces of any size, the first of their connection
 * or not. Status, fields and body are the same, or both fail; and the next call gets the next answer.
 */
import { isDeepStrictEqual } from "node:util";
import { type Outcome, ownClient, undiciClient } from "../../support/clients/http-clients.ts";
import { randomOf } from "../../support/run/random.ts";
import { type Answering, startAnswering } from "../answering.ts";
import { cut } from "../cut.ts";
import { anyReply } from "../replies.ts";
import { Difference, type FuzzOptions, type Target } from "../target.ts";

/** Where ours fails and undici does not: what its error says, and why. */
const stricter: readonly { readonly says: RegExp; readonly why: string }[] = [
  {
    says: /how its body is coded/,
    why: "a coding but chunks, which undici hands over as it came; and HTTP/1.0 has no chunks",
  },
  {
    says: /does not begin/,
    why: "control characters in a reason, and empty lines before a status (RFC 9112, 2.2 and 4)",
  },
  { says: /behind the last chunk/, why: "trailers that say where the message ends (RFC 9110, 6.5.1)" },
  {
    says: /interim answer announces/,
    why: "what follows an interim answer with a length may be its body (RFC 9112, 6.3)",
  },
];

/** Where undici fails and ours does not: what its error says, of which answers, and why. */
const laxer: readonly { readonly says: RegExp; readonly of?: RegExp; readonly why: string }[] = [
  { says: /^bad response$/, why: "a client takes a 100 that it has not asked for (RFC 9110, 15.2); undici does not" },
  { says: /Data after `Connection: close`/, why: "an interim answer that says close ends nothing (RFC 9110, 15.2)" },
  {
    says: /does not match content-length/,
    of: /content-length:[^\r]*[ \t]\r\n/i,
    why: "undici counts space behind a length as a digit where the length comes in pieces",
  },
];

/** Where both read an answer, and not to the same: what the answer says, and why. */
const otherwise: readonly { readonly says: RegExp; readonly why: string }[] = [
  {
    says: /transfer-encoding:[^\r]*\t\r\n/i,
    why: "a tab behind `chunked` is no part of it (RFC 9112, 5.1); to undici it is",
  },
];

/** Whether the difference is one that is meant. */
function isRuled(text: string, own: Outcome, theirs: Outcome): boolean {
  if (own.end === theirs.end) return otherwise.some(({ says }) => says.test(text));
  if (own.end === "late" || theirs.end === "late") return false;
  const says = (one: Outcome, words: RegExp) => words.test(one.error?.message ?? "");
  if (theirs.end === "ended") return stricter.some((rule) => says(own, rule.says));
  return laxer.some((rule) => says(theirs, rule.says) && (rule.of?.test(text) ?? true));
}

/** What a server says, one answer after another: a sound one twice, so that its head is known, and the one that is looked at. */
interface Case {
  readonly warm?: string | undefined;
  readonly pieces: readonly string[];
}

const honest = "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nhonest";

interface Stage {
  readonly own: Answering;
  readonly theirs: Answering;
}

async function inStage(play: (stage: Stage) => Promise<void>): Promise<void> {
  const stage = { own: await startAnswering(ownClient), theirs: await startAnswering(undiciClient) };
  try {
    await play(stage);
  } finally {
    await stage.own.close();
    await stage.theirs.close();
  }
}

async function compare({ own, theirs }: Stage, { warm, pieces }: Case): Promise<void> {
  const answers = [...(warm === undefined ? [] : [[warm], [warm]]), pieces];
  let isKept = true;
  try {
    for (const one of answers) {
      const [ownOutcome, theirOutcome] = await Promise.all([own.ask(one), theirs.ask(one)]);
      const fault = faultIn(one, ownOutcome, theirOutcome);
      isKept = theirOutcome.end === "ended";
      if (fault) throw new Difference(`${fault}\n${JSON.stringify({ warm, pieces })}`, { warm, pieces });
    }
    // Whatever stands behind an answer is not the next one, as far as undici can know. Where it has failed it asks another connection,
    // and knows nothing.
    if (!isKept) return;
    const [next, theirNext] = await Promise.all([own.ask([honest]), theirs.ask([honest])]);
    if (next.body === "honest" || theirNext.body !== "honest" || isRuled("", next, theirNext)) return;
    throw new Difference(`next: ${JSON.stringify(next)}\n${JSON.stringify({ warm, pieces })}`, { warm, pieces });
  } finally {
    await Promise.all([own.settle(), theirs.settle()]);
  }
}

function faultIn(pieces: readonly string[], own: Outcome, theirs: Outcome): string | undefined {
  const hasFailed = own.end !== "ended" && theirs.end !== "ended";
  if (hasFailed || isDeepStrictEqual(told(own), told(theirs)) || isRuled(pieces.join(""), own, theirs))
    return undefined;
  const words = [own, theirs].map((outcome) => `${JSON.stringify(told(outcome))} ${outcome.error?.message ?? ""}`);
  return `own:    ${words[0]}\nundici: ${words[1]}`;
}

const told = ({ end, status, headers, body }: Outcome) =>
  end === "ended" ? { end, status, body, headers: Object.entries(headers).map(trimmed).sort() } : { end };

/** Space behind a value is left there by undici where the value comes in pieces. */
const trimmed = ([name, value]: [string, string | string[] | undefined]) => [
  name,
  [value].flat().map((one) => one?.trim()),
];

async function fuzz({ seconds, seed, cases = Number.POSITIVE_INFINITY, onCase }: FuzzOptions): Promise<void> {
  const end = performance.now() + seconds * 1000;
  await inStage(async (stage) => {
    for (let i = 0; i < cases && (i === 0 || performance.now() < end); i++) {
      const random = randomOf(seed + i);
      const { sound, text } = anyReply(random);
      const one: Case = { warm: random() < 0.3 ? sound : undefined, pieces: cut(text, random) };
      await compare(stage, one);
      onCase?.(JSON.stringify(one));
    }
  });
}

export const client: Target = { fuzz, replay: (saved) => inStage((stage) => compare(stage, saved as unknown as Case)) };
