/** Gives the demo's keys owners and tags, and some of them limits. */
import type { KeyLimitChange } from "../../services/keys/key-limits.ts";
import type { PlannedKey } from "./plan.ts";

interface Team {
  readonly names: RegExp;
  readonly tag: string;
  readonly owner: string;
}

const teams: readonly Team[] = [
  { names: /^Support|^Triage/, tag: "support", owner: "Ines Okafor" },
  { names: /^Search|^Manuals/, tag: "search", owner: "Tomás Vidal" },
  { names: /agent|^Planner|^Release/i, tag: "engineering", owner: "Yuki Tanaka" },
  { names: /^Invoice|^Coding|^Translation/, tag: "back-office", owner: "Amara Lindqvist" },
  { names: /^Mobile/, tag: "mobile", owner: "Priya Raman" },
  { names: /notebooks|report|^Newsroom/i, tag: "research", owner: "Jonas Weber" },
];

/** labelsOf returns what a planned key has besides its credit limit and models. Keys of no team have no owner. */
export function labelsOf({ name, habit }: Pick<PlannedKey, "name" | "habit">): KeyLimitChange {
  const team = teams.find(({ names }) => names.test(name));
  const stage = /staging|beta|backfill/.exec(name)?.[0];
  const tags = [...(team ? [team.tag] : []), ...(stage ? [stage] : team ? ["production"] : [])];
  return {
    owner: team?.owner ?? null,
    tags: tags.length === 0 ? null : JSON.stringify(tags),
    ...(stage ? { requests_per_minute: 60, max_concurrent: 5 } : {}),
    ...(habit === "agent" ? { tokens_per_minute: 2_000_000, max_concurrent: 20 } : {}),
    ...(name.endsWith(", production") ? { allowed_ips: JSON.stringify(["192.0.2.0/24", "2001:db8:10::/48"]) } : {}),
    ...(habit === "research" && team
      ? { model_rates: JSON.stringify([{ model: "claude-opus-5", requests: 30, tokens: 400_000 }]) }
      : {}),
  };
}
