/**
 * A completion of several prompts on a chat model, which goes on with one conversation a call: each prompt is asked for
 * in a call of its own, a few at once, and the answers are one.
 *
 * All of it is the caller's one call. Who leaves it leaves every upstream; where one prompt fails the others are given
 * up, and their caller is told of the failure. Whatever else is asked goes through in one call as it came.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import type { Answer, AnswerHeaders, BodyRoom, Call, Frames } from "../../call/call.ts";
import type { Form, Input, Operation, Output } from "../../call/operations.ts";
import { expandedTooLarge, internal } from "../../call/refusals.ts";
import { CompletionJoin, joinCompletions } from "../../families/completions-to-chat/answer/join.ts";
import { promptTexts } from "../../families/completions-to-chat/request/prompt.ts";
import type { Translation } from "../../families/translation.ts";
import { abortSignalOf } from "../../runtime/caller-abort.ts";
import type { MaybePromise } from "../../runtime/maybe-promise.ts";
import type { Wire } from "../../wire/wire.ts";
import { allOf, interleave } from "./concurrently.ts";

/** Asks the upstream once. */
export type Ask<I extends DescMessage, D extends DescMessage> = (call: Call<I>) => MaybePromise<Answer<D>>;

type Completion = Output<"completions", Form>;

/** How many prompts of a call are with the upstream at a time. */
const atOnce = 4;

/**
 * How many of a stream's prompts are waited for until their upstreams accept: what these refuse can then be told with its
 * status. Where there is a queue the others may wait for the very place that the first gives back when it has been read.
 */
const acceptedFirst = (hasQueue: boolean) => (hasQueue ? 1 : atOnce);

/** Returns of how many calls to the upstream a call consists. Throws a Refusal. */
export function partsOf<O extends Operation>(way: readonly Translation[], call: Call<Input<O>>): number {
  if (way[0]?.from !== "completions") return 1;
  const request = call.request as Wire<DescMessage> as Wire<Input<"completions">>;
  return promptTexts(request.message().prompt).length;
}

/** Returns the first of the calls to the upstream that a call consists of. Throws a Refusal. */
export function firstPart(way: readonly Translation[], call: Call): Call {
  if (way[0]?.from !== "completions") return call;
  const request = call.request as Wire<Input<"completions">>;
  const [prompt = "", ...others] = promptTexts(request.message().prompt);
  return others.length === 0 ? call : { ...call, request: request.with({ prompt }) as Wire<DescMessage> };
}

/**
 * Throws a Refusal, now or later. `way` is what lies between the call and its upstream, and `hasQueue` says that an upstream has
 * a queue.
 */
export function eachPrompt<O extends Operation, F extends Form>(
  way: readonly Translation[],
  form: F,
  call: Call<Input<O>>,
  ask: Ask<Input<O>, Output<O, F>>,
  hasQueue = false,
): MaybePromise<Answer<Output<O, F>>> {
  if (way[0]?.from !== "completions") return ask(call);
  boundPrompts(call.request as Wire<DescMessage> as Wire<Input<"completions">>, call.body);
  return askEach(form, call, ask, hasQueue);
}

/**
 * Every prompt is sent with all else that the request says, and with `echo` told again in each choice: neither may come to more
 * than a body may have. Throws a Refusal.
 */
function boundPrompts(request: Wire<Input<"completions">>, { maxBytes }: BodyRoom): void {
  const { prompt, n = 1, echo = false } = request.message();
  const prompts = promptTexts(prompt);
  const texts = prompts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (echo && n > 1 && n * texts > maxBytes) throw expandedTooLarge(maxBytes, "n");
  if (prompts.length === 1) return;
  const rest = request.with({ prompt: "" }).byteLength;
  if (texts + prompts.length * rest > maxBytes) throw expandedTooLarge(maxBytes, "prompt");
}

async function askEach<O extends Operation, F extends Form>(
  form: F,
  call: Call<Input<O>>,
  ask: Ask<Input<O>, Output<O, F>>,
  hasQueue: boolean,
): Promise<Answer<Output<O, F>>> {
  const request = call.request as Wire<DescMessage> as Wire<Input<"completions">>;
  const { prompt, n = 1 } = request.message();
  const prompts = promptTexts(prompt);
  if (prompts.length === 1) return ask(call);
  const stopping = new AbortController();
  const signal = AbortSignal.any([abortSignalOf(call.signal), stopping.signal]);
  const rest = request.with({ prompt: "" }); // So that no prompt costs the reading of them all.
  const askFor = async (text: string) =>
    ask({ ...call, request: rest.with({ prompt: text }) as Wire<DescMessage> as Wire<Input<O>>, signal });
  const several: Several = { prompts, n, askFor: askFor as Several["askFor"], stop: () => stopping.abort() };
  return (form === "whole" ? whole(several) : streamed(several, acceptedFirst(hasQueue))) as Promise<
    Answer<Output<O, F>>
  >;
}

interface Several {
  readonly prompts: readonly string[];
  /** How many choices each prompt asks for. */
  readonly n: number;
  askFor(prompt: string): Promise<Answer<Completion>>;
  /** Gives up what is asked for. */
  stop(): void;
}

async function whole({ prompts, n, askFor, stop }: Several): Promise<Answer<Completion>> {
  const answers = await allOf(prompts, atOnce, askFor, stop);
  const bodies = answers.map((answer) => {
    if (answer.kind !== "whole") throw internal(new Error("a part of a whole answer is a stream"));
    return answer.body;
  });
  return { kind: "whole", body: joinCompletions(bodies, n), ...headersOf(answers) };
}

async function streamed({ prompts, n, askFor, stop }: Several, few: number): Promise<Answer<Completion>> {
  const accepted: Answer<Completion>[] = [];
  const accept = async (prompt: string) => {
    const answer = await askFor(prompt);
    accepted.push(answer);
    return answer;
  };
  try {
    const first = await allOf(prompts.slice(0, few), few, accept, stop);
    const frames = prompts.map((prompt, i) => (first[i] ? framesOf(first[i]) : later(() => askFor(prompt))));
    return { kind: "stream", frames: joined(frames, n, stop), ...headersOf(first) };
  } catch (error) {
    await Promise.allSettled(accepted.map(leave));
    throw error;
  }
}

/** What is left out is left out for every prompt: they differ in nothing else. */
function headersOf([answer]: readonly Answer<Completion>[]): { readonly headers?: AnswerHeaders } {
  return answer?.headers ? { headers: answer.headers } : {};
}

function framesOf(answer: Answer<Completion>): Frames<Completion> {
  if (answer.kind !== "stream") throw internal(new Error("a part of a stream is a whole answer"));
  return answer.frames;
}

async function* later(ask: () => Promise<Answer<Completion>>): Frames<Completion> {
  yield* framesOf(await ask());
}

async function* joined(streams: readonly Frames<Completion>[], n: number, stop: () => void): Frames<Completion> {
  const pieces = new CompletionJoin(n);
  yield* interleave(
    streams.map((frames, prompt) => pieces.of(prompt, frames)),
    atOnce,
    stop,
  );
  const last = pieces.atEnd();
  if (last.length > 0) yield last;
}

/** Lets go of a stream. It has to begin for that: who has not begun has nothing to clear up. */
async function leave(answer: Answer<Completion>): Promise<void> {
  for await (const _ of framesOf(answer)) break;
}
