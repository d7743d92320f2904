/**
 * Reads a Dockerfile: its stages, each with its instructions, and what an image of it would be configured with. It knows what the
 * project's Dockerfile uses, and throws on the rest.
 */

export interface Instruction {
  readonly name: string;
  /** Flags as `--from=build`, by their names. */
  readonly flags: ReadonlyMap<string, string>;
  readonly text: string;
}

export interface Stage {
  readonly base: string;
  readonly name: string | undefined;
  readonly instructions: readonly Instruction[];
}

const known = new Set([
  ...["ADD", "ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "HEALTHCHECK", "LABEL", "RUN", "STOPSIGNAL"],
  ...["USER", "VOLUME", "WORKDIR"],
]);

/** Returns the stages of a Dockerfile. */
export function stagesOf(dockerfile: string): Stage[] {
  const stages: { base: string; name: string | undefined; instructions: Instruction[] }[] = [];
  for (const instruction of instructionsOf(dockerfile)) {
    if (instruction.name !== "FROM") {
      if (!stages.at(-1)) throw new Error(`${instruction.name} stands before the first FROM`);
      stages.at(-1)?.instructions.push(instruction);
      continue;
    }
    const [base = "", as, name] = instruction.text.split(/\s+/);
    if (as !== undefined && as.toUpperCase() !== "AS") throw new Error(`FROM ${instruction.text}`);
    stages.push({ base, name, instructions: [] });
  }
  return stages;
}

function instructionsOf(dockerfile: string): Instruction[] {
  const lines = dockerfile.split("\n").filter((line) => !/^\s*#/.test(line));
  const whole = lines.join("\n").replace(/\\\n/g, " ");
  return whole
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => {
      const [, name = "", flags = "", text = ""] = /^\s*(\w+)\s+((?:--\S+\s+)*)(.*?)\s*$/.exec(line) ?? [];
      if (!known.has(name)) throw new Error(`there is no such instruction here: ${line}`);
      const pairs = flags.trim() === "" ? [] : flags.trim().split(/\s+/);
      return { name, text, flags: new Map(pairs.map((flag) => splitAt(flag.slice(2), "="))) };
    });
}

function splitAt(text: string, sign: string): [string, string] {
  const at = text.indexOf(sign);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

/** Returns the values of ENV, LABEL or ARG: `name=value` pairs, of which values may be quoted. */
export function pairsOf(text: string): [string, string][] {
  return [...text.matchAll(/([\w.-]+)(?:=("[^"]*"|\S*))?/g)].map(([, name = "", value = ""]) => [
    name,
    value.replace(/^"(.*)"$/, "$1"),
  ]);
}

/** Replaces `$NAME` and `${NAME}` by what they stand for; by nothing where there is no such variable. */
export function replaced(text: string, variables: ReadonlyMap<string, string>): string {
  return text.replace(/\$(?:\{(\w+)\}|(\w+))/g, (_, braced?: string, bare?: string) => {
    return variables.get(braced ?? bare ?? "") ?? "";
  });
}

/** What an engine runs a container with. */
export interface ImageConfig {
  readonly env: ReadonlyMap<string, string>;
  readonly labels: ReadonlyMap<string, string>;
  readonly user: string;
  readonly workdir: string;
  readonly volumes: readonly string[];
  readonly ports: readonly number[];
  readonly stopSignal: string;
  readonly entrypoint: readonly string[];
  readonly command: readonly string[];
  readonly healthcheck:
    | { readonly flags: ReadonlyMap<string, string>; readonly command: readonly string[] }
    | undefined;
}

/** Returns the configuration that a stage leaves. Throws where a command is not a list of words, for a shell would be its process 1. */
export function configOf({ instructions }: Stage, given: Readonly<Record<string, string>> = {}): ImageConfig {
  const variables = new Map<string, string>();
  const env = new Map<string, string>();
  const labels = new Map<string, string>();
  const last = (name: string) => instructions.findLast((one) => one.name === name);
  for (const { name, text } of instructions) {
    if (name !== "ARG" && name !== "ENV" && name !== "LABEL") continue;
    for (const [key, value] of pairsOf(text)) {
      const whole = (name === "ARG" ? given[key] : undefined) ?? replaced(value, variables);
      if (name === "LABEL") labels.set(key, whole);
      else variables.set(key, whole);
      if (name === "ENV") env.set(key, whole);
    }
  }
  const healthcheck = last("HEALTHCHECK");
  return {
    ...{ env, labels },
    user: last("USER")?.text ?? "root",
    workdir: last("WORKDIR")?.text ?? "/",
    volumes: wordsOf(last("VOLUME")),
    ports: (last("EXPOSE")?.text ?? "").split(/\s+/).map(Number),
    stopSignal: last("STOPSIGNAL")?.text ?? "SIGTERM",
    entrypoint: wordsOf(last("ENTRYPOINT")),
    command: wordsOf(last("CMD")),
    healthcheck: healthcheck && {
      flags: healthcheck.flags,
      command: wordsOf({ ...healthcheck, text: healthcheck.text.replace(/^CMD\s+/, "") }),
    },
  };
}

function wordsOf(instruction: Instruction | undefined): string[] {
  if (!instruction) return [];
  try {
    return JSON.parse(instruction.text) as string[];
  } catch {
    throw new Error(`${instruction.name} ${instruction.text}: write it as a list of words, ["a", "b"]`);
  }
}
