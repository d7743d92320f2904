/**
 * The quick check of requests' JSON, which `pipeline/check/validate.ts` may be given. It is sure of most sound requests, at a
 * part of what making a message of one and validating that costs.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import { isSureOfLong } from "./long-check.ts";
import { placeOf } from "./places.ts";
import { isSurelySound } from "./quick-check.ts";

export const quickCheck = {
  prepare: (desc: DescMessage): void => void placeOf(desc),
  isSure: isSurelySound,
  isSureOfLong,
} as const;
