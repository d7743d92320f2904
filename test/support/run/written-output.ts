/** Output is what a process has written. */
export interface Output {
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * keepOutput keeps what this process writes to stdout and stderr, in the place of writing it: processes that run other programs within
 * themselves answer with it. Returns a function that returns what was written since it was called last.
 */
export function keepOutput(): () => Output {
  let written = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    process[name].write = ((text: string | Uint8Array, ...rest: readonly unknown[]) => {
      written[name] += Buffer.from(text as string).toString();
      const callback = rest.at(-1);
      if (typeof callback === "function") callback();
      return true;
    }) as typeof process.stdout.write;
  }
  return () => {
    const output = written;
    written = { stdout: "", stderr: "" };
    return output;
  };
}

/** setEnvironment makes these variables the whole environment of this process. */
export function setEnvironment(env: Readonly<Record<string, string | undefined>>): void {
  for (const name of Object.keys(process.env)) delete process.env[name];
  for (const [name, value] of Object.entries(env)) if (value !== undefined) process.env[name] = value;
}
