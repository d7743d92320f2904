/**
 * `model-gateway completion bash|zsh|fish|powershell`: prints a script that completes the command line. Made from the table of commands,
 * it asks the gateway for nothing, so that a key press costs no process.
 */
import { helpHint, UsageError } from "../errors.ts";
import { readOptions } from "../read-options.ts";
import { shells } from "../table.ts";
import { bashScript } from "./bash.ts";
import { fishScript } from "./fish.ts";
import { powershellScript } from "./powershell.ts";
import { zshScript } from "./zsh.ts";

const scripts: ReadonlyMap<string, () => string> = new Map(
  Object.entries({
    bash: bashScript,
    zsh: zshScript,
    fish: fishScript,
    powershell: powershellScript,
  } satisfies Record<(typeof shells)[number], () => string>),
);

export async function completion(args: readonly string[]): Promise<void> {
  const [shell = ""] = readOptions("completion", args).positionals;
  const script = scripts.get(shell);
  if (!script) throw new UsageError(`completion is for ${shells.join(", ")}. ${helpHint("completion")}`);
  console.log(script());
}
