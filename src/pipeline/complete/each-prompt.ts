/**
 * A text completion of several prompts, on a chat model, which continues one conversation a request: each prompt is asked by
 * itself, a few at once, and the answers are joined to one.
 *
 * To the caller it is one call. When the caller disconnects, every upstream request is aborted; when one prompt fails, the
 * others are aborted and the caller is told of that failure. Every other call is asked in one request, as it came.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import type { Answer, AnswerHeaders, BodyRoom, Call, Frames } from "../../call/call.ts";
import type { Form, Input, Output } from "../../call/operations.ts";
import { expandedTooLarge, internal } from "../../call/refusals.ts";
import { CompletionJoin, joinCompletions } from "../../families/completions-to-chat/answer/join.ts";
import { promptTexts } from "../../families/completions-to-chat/request/prompt.ts";
import { abortSignalOf } from "../../runtime/caller-abort.ts";
import type { MaybePromise } from "../../runtime/maybe-promise.ts";
import type { Wire } from "../../wire/wire.ts";
import { allOf, interleave } from "./concurrently.ts";
import type { ModelCall } from "./model-call.ts";
import { completionOf, isAskedByPrompt } from "./parts.ts";

/** AnswerPart answers one part of a call. Throws a Refusal, now or later. */
export type AnswerPart = (part: Call) => MaybePromise<Answer>;

type Completion = Output<"completions", Form>;

/** atOnce is how many prompts of a call are with the upstream at a time. */
const atOnce = 4;

/**
 * Returns how many prompts of a stream must be accepted by their upstreams before the answer begins, so that a refusal can still set its
 * status. Where upstreams have a queue it is one: the others may wait for the very place that the first gives up when it is read.
 */
const acceptedFirst = (hasQueue: boolean) => (hasQueue ? 1 : atOnce);

/** eachPrompt has each part of a call answered, and joins the answers. Throws a Refusal, now or later. */
export function eachPrompt(modelCall: ModelCall, answerPart: AnswerPart): MaybePromise<Answer> {
  const { call, candidates } = modelCall;
  if (!isAskedByPrompt(candidates[0].path)) return answerPart(call);
  boundPrompts(completionOf(call), call.body);
  return askEach(modelCall, answerPart);
}

/**
 * boundPrompts bounds what a call of several prompts stands for: each is sent with the whole rest of the request, and `echo` repeats it in
 * each choice. Neither may come to more than a body may have. Throws a Refusal.
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

async function askEach({ call, form, candidates }: ModelCall, answerPart: AnswerPart): Promise<Answer> {
  const request = completionOf(call);
  const { prompt, n = 1 } = request.message();
  const prompts = promptTexts(prompt);
  if (prompts.length === 1) return answerPart(call);
  const stopping = new AbortController();
  const signal = AbortSignal.any([abortSignalOf(call.signal), stopping.signal]);
  const rest = request.with({ prompt: "" }); // So that no prompt costs the reading of them all.
  const askFor = async (text: string) =>
    (await answerPart({
      ...call,
      request: rest.with({ prompt: text }) as Wire<DescMessage>,
      signal,
    })) as Answer<Completion>;
  const several: Several = { prompts, n, askFor, stop: () => stopping.abort() };
  const hasQueue = candidates.some((candidate) => candidate.hasQueue);
  return (form === "whole" ? unary(several) : streamed(several, acceptedFirst(hasQueue))) as Promise<Answer>;
}

interface Several {
  readonly prompts: readonly string[];
  /** n is how many choices each prompt asks for. */
  readonly n: number;
  askFor(prompt: string): Promise<Answer<Completion>>;
  /** Aborts what is asked for. */
  stop(): void;
}

async function unary({ prompts, n, askFor, stop }: Several): Promise<Answer<Completion>> {
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
    await Promise.allSettled(accepted.map(endStream));
    throw error;
  }
}

/** headersOf returns the headers of all: what is dropped is dropped for every prompt, because they differ in nothing else. */
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

/** endStream ends a stream. It is begun for that: a stream that never began has no end to run. */
async function endStream(answer: Answer<Completion>): Promise<void> {
  for await (const _ of framesOf(answer)) break;
}
