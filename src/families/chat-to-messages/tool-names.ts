/**
 * Names of tools and ids of calls as the Messages API takes them: `^[a-zA-Z0-9_-]{1,128}$`. Valid names stay. Invalid ones are rewritten
 * (`call/tools/fit-name.ts`).
 */
import { fitName, wordRule } from "../../call/tools/fit-name.ts";

const rule = wordRule(128);

/** upstreamName returns the name, or the id, that stands for one at the upstream. */
export function upstreamName(name: string): string {
  return fitName(name, rule);
}
