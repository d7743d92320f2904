/**
 * MeteredAttempt collects the usage and the output of one request to an upstream, for the call's meter.
 */

import type { Operation } from "../../call/operations.ts";
import type { ToldManner, ToldUsage, Usage } from "../../call/usage.ts";
import type { Meter } from "../../providers/contract.ts";
import { maxCount } from "../../providers/usage/count.ts";
import { type RequestedManner, requestedManner } from "../../providers/usage/manner.ts";
import type { Wire } from "../../wire/wire.ts";
import { KeptText } from "./kept-text.ts";

/** AttemptMeter measures one request to an upstream. */
export interface AttemptMeter extends Meter {
  /** isPaidByInput is whether the request is charged by its input alone, so that the rest of its answer does not matter. */
  readonly isPaidByInput: boolean;
  /** The output so far, in bytes. */
  readonly outputBytes: number;
  /** Notes that frames of a stream have arrived. */
  came(): void;
  /** Reports whether any content of the answer has arrived. */
  hasContent(): boolean;
  /** Returns the output that the upstream reported by the end of the answer; undefined before the end, or without a report. */
  usageAtEnd(): Pick<Usage, "output" | "reasoning"> | undefined;
  /** Returns what the upstream has reported so far. */
  told(): Usage;
  /** Takes an estimate of hidden reasoning, for where no usage is reported. Output and reasoning together are `max` tokens at most. */
  reasoned(tokens: number, max: number): void;
  /** Reports whether the upstream reported any input or output. */
  hasUsage(): boolean;
  /** Reports whether the upstream has told no usage so far that its caller can read, none of the output that there was, or what is no count. */
  isUntold(): boolean;
  /** Notes that the upstream bills the attempt, so that it is charged even where the call fails later. */
  bill(): void;
  /** Drops the attempt: it failed, and another may replace it. Returns what its upstream reported; undefined where that is nothing. */
  drop(): Usage | undefined;
}

/** The last reported count of each part. */
interface ReportedUsage {
  input: number | undefined;
  cacheRead: number;
  cacheWrite: number;
  cacheWriteHour: number;
  output: number | undefined;
  reasoning: number;
}

/** Parts that most upstreams never report. */
const rareParts = ["inputAudio", "inputImage", "outputAudio", "searches"] as const;
type Rare = { readonly [part in (typeof rareParts)[number]]?: number };

export class MeteredAttempt implements AttemptMeter {
  readonly operation: Operation;
  readonly request: Wire;
  readonly usage: ReportedUsage = {
    input: undefined,
    cacheRead: 0,
    cacheWrite: 0,
    cacheWriteHour: 0,
    output: undefined,
    reasoning: 0,
  };
  readonly output = new KeptText();
  hasCome = false;
  /** hasWritten is whether there was any output, text or not. */
  hasWritten = false;
  hasGivenUp = false;
  hasEnded = false;
  isDropped = false;
  isBilled = false;
  /** isBroken is whether a reported count was none, or was beyond all bounds and was cut. */
  isBroken = false;
  /** hasNoCount is whether what was reported for a sum is no count: then callers are told what is charged. */
  hasNoCount = false;
  /** isElsewhere is whether usage was reported only where, or as, no caller reads it. */
  isElsewhere = false;
  /** countedInput is the gateway's own count of the input, once it was asked for. */
  countedInput: Promise<number> | undefined;
  /** hasOther is whether some of the output was no text. */
  hasOther = false;
  /** The service tier that was asked for, the reported one, and the reported rare parts. */
  readonly asked: RequestedManner;
  manner: ToldManner | undefined;
  rare: Rare | undefined;
  /** leastOutput is the output that was reported before there was any. */
  leastOutput = 0;
  /** isOutputReported is whether output was reported after there was any. Such a report includes the reasoning up to then. */
  isOutputReported = false;
  estimatedReasoning = 0;
  /** The most output and reasoning together, in tokens. */
  maxOutput = 0;

  constructor(operation: Operation, request: Wire) {
    this.operation = operation;
    this.request = request;
    this.asked = requestedManner(request.outline());
  }

  reportUsage(reported: ToldUsage): void {
    const { input, cacheRead, cacheWrite, cacheWriteHour, output, reasoning, manner } = reported;
    const { usage } = this;
    if (reported.isBroken) {
      this.isBroken = true;
      this.hasNoCount = true;
    }
    if ((input ?? output) !== undefined) this.isElsewhere = reported.isElsewhere === true;
    if (manner) this.manner = manner;
    for (const part of rareParts) {
      const count = this.#plausible(reported[part]);
      if (count !== undefined) this.rare = { ...this.rare, [part]: count };
    }
    usage.input = this.#plausible(input) ?? usage.input;
    usage.cacheRead = this.#plausible(cacheRead) ?? usage.cacheRead;
    usage.cacheWrite = this.#plausible(cacheWrite) ?? usage.cacheWrite;
    usage.cacheWriteHour = this.#plausible(cacheWriteHour) ?? usage.cacheWriteHour;
    usage.output = this.#plausible(output) ?? usage.output;
    usage.reasoning = this.#plausible(reasoning) ?? usage.reasoning;
    this.leastOutput = this.#plausible(reported.leastOutput) ?? this.leastOutput;
    if (output !== undefined && this.hasWritten) this.isOutputReported = true;
  }

  #plausible(count: number | undefined): number | undefined {
    if (count === undefined || count <= maxCount) return count;
    this.isBroken = true;
    return maxCount;
  }

  countText(text: string): void {
    this.hasWritten = true;
    if (text === "") this.hasOther = true;
    else this.output.add(text);
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

  get outputBytes(): number {
    return this.output.byteLength;
  }

  came(): void {
    this.hasCome = true;
  }

  /** For speech, which counts no output, the first bytes are content. */
  hasContent(): boolean {
    return this.isPaidByInput ? this.hasCome : this.hasWritten || this.hasEnded || this.hasGivenUp;
  }

  usageAtEnd(): Pick<Usage, "output" | "reasoning"> | undefined {
    const { output, reasoning } = this.usage;
    return this.hasEnded && output !== undefined ? { output, reasoning } : undefined;
  }

  told(): Usage {
    const { input = 0, output = 0, ...others } = this.usage;
    return { ...others, input, output };
  }

  reasoned(tokens: number, max: number): void {
    this.estimatedReasoning = tokens;
    this.maxOutput = max;
  }

  hasUsage(): boolean {
    const { input = 0, output = 0, cacheRead, cacheWrite, cacheWriteHour } = this.usage;
    return input + output + cacheRead + cacheWrite + cacheWriteHour > 0;
  }

  isUntold(): boolean {
    const { input, output } = this.usage;
    const isOutputUntold = !output && this.operation !== "embeddings" && !this.output.isEmpty();
    return input === undefined || isOutputUntold || this.isElsewhere || this.hasNoCount;
  }

  bill(): void {
    this.isBilled = true;
  }

  drop(): Usage | undefined {
    this.isDropped = true;
    return this.hasUsage() ? this.told() : undefined;
  }
}

/** isUncounted reports whether output is not counted: speech is charged by the characters of its input. */
export function isUncounted(operation: Operation): boolean {
  return operation === "speech";
}
