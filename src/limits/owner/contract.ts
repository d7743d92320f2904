/** The contract between a worker and its owner about limits: what a worker asks, and what it is answered, as plain data. */
import type { Done } from "../../runtime/ipc/channel.ts";
import type { Ask, Slice, Unused } from "../contract.ts";
import type { PlacesAsk, PlacesGrant } from "../places.ts";

export type LimitQuestions = {
  readonly "slices.take": readonly [asked: readonly Ask[], answer: readonly Slice[]];
  readonly "slices.giveBack": readonly [unused: readonly Unused[], answer: Done];
  readonly "places.ask": readonly [asked: PlacesAsk, answer: PlacesGrant];
};
