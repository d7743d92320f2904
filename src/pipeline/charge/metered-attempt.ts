/**
 * What one request to an upstream has told and put out so far, for the call's meter.
 */

import type { Operation } from "../../call/operations.ts";
import type { ToldManner, ToldUsage, Usage } from "../../call/usage.ts";
import type { Meter } from "../../providers/contract.ts";
import { maxCount } from "../../providers/usage/count.ts";
import { type RequestedManner, requestedManner } from "../../providers/usage/manner.ts";
import type { Wire } from "../../wire/wire.ts";
import { KeptText } from "./kept-text.ts";

/** Measures one request to an upstream. */
export interface AttemptMeter extends Meter {
  /** Whether it is paid by its input alone, which is known: nothing is to be learnt from the rest of its answer. */
  readonly isPaidByInput: boolean;
  /** Notes that frames of a stream have come. */
  came(): void;
  /** Whether anything of the answer itself has come. */
  hasContent(): boolean;
  /** Returns the output that was told by the end of the answer; undefined where that has not been seen, or nothing was told. */
  usageAtEnd(): Pick<Usage, "output" | "reasoning"> | undefined;
  /** Takes an estimate of reasoning that nobody saw, for a call that is left: all output comes to `most` tokens at most with it. */
  reasoned(tokens: number, most: number): void;
  /** Forgets the attempt: it failed, and another is made in its place. */
  drop(): void;
}

/** What was told last of each part, at first nothing. */
interface Told {
  input: number | undefined;
  cacheRead: number;
  cacheWrite: number;
  cacheWriteHour: number;
  output: number | undefined;
  reasoning: number;
}

/** What most upstreams never tell. */
const rareParts = ["inputAudio", "inputImage", "outputAudio", "searches"] as const;
type Rare = { readonly [part in (typeof rareParts)[number]]?: number };

export class Attempted implements AttemptMeter {
  readonly operation: Operation;
  readonly request: Wire;
  readonly usage: Told = {
    input: undefined,
    cacheRead: 0,
    cacheWrite: 0,
    cacheWriteHour: 0,
    output: undefined,
    reasoning: 0,
  };
  readonly output = new KeptText();
  hasCome = false;
  /** Whether anything was put out, text or not. */
  hasWritten = false;
  hasGivenUp = false;
  hasEnded = false;
  isDropped = false;
  /** Whether more was told than is believed. */
  isCut = false;
  /** How it is to be served, and what was told of that; and of what is told rarely. */
  readonly asked: RequestedManner;
  manner: ToldManner | undefined;
  rare: Rare | undefined;
  /** Whether output was told since there is any: all of it up to then, reasoning too. */
  isOutputTold = false;
  /** Reasoning that is estimated, and the most output with it. */
  thought = 0;
  mostOutput = 0;

  constructor(operation: Operation, request: Wire) {
    this.operation = operation;
    this.request = request;
    this.asked = requestedManner(request.outline());
  }

  reportUsage(told: ToldUsage): void {
    const { input, cacheRead, cacheWrite, cacheWriteHour, output, reasoning, manner } = told;
    const { usage } = this;
    if (manner) this.manner = manner;
    for (const part of rareParts) {
      const count = this.#believed(told[part]);
      if (count !== undefined) this.rare = { ...this.rare, [part]: count };
    }
    usage.input = this.#believed(input) ?? usage.input;
    usage.cacheRead = this.#believed(cacheRead) ?? usage.cacheRead;
    usage.cacheWrite = this.#believed(cacheWrite) ?? usage.cacheWrite;
    usage.cacheWriteHour = this.#believed(cacheWriteHour) ?? usage.cacheWriteHour;
    usage.output = this.#believed(output) ?? usage.output;
    usage.reasoning = this.#believed(reasoning) ?? usage.reasoning;
    if (output !== undefined && this.hasWritten) this.isOutputTold = true;
  }

  #believed(count: number | undefined): number | undefined {
    if (count === undefined || count <= maxCount) return count;
    this.isCut = true;
    return maxCount;
  }

  countText(text: string): void {
    this.hasWritten = true;
    this.output.add(text);
  }

  reportGivenUp(): void {
    this.hasGivenUp = true;
  }

  reportEnd(): void {
    this.hasEnded = true;
  }

  get isPaidByInput(): boolean {
    return isUncounted(this.operation);
  }

  came(): void {
    this.hasCome = true;
  }

  /** Of speech nothing is counted, and its first bytes are content. */
  hasContent(): boolean {
    return this.isPaidByInput ? this.hasCome : this.hasWritten || this.hasEnded || this.hasGivenUp;
  }

  usageAtEnd(): Pick<Usage, "output" | "reasoning"> | undefined {
    const { output, reasoning } = this.usage;
    return this.hasEnded && output !== undefined ? { output, reasoning } : undefined;
  }

  reasoned(tokens: number, most: number): void {
    this.thought = tokens;
    this.mostOutput = most;
  }

  drop(): void {
    this.isDropped = true;
  }
}

/** Speech is paid by the characters of its input, which are known. */
export function isUncounted(operation: Operation): boolean {
  return operation === "speech";
}
