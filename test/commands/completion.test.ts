/**
 * `model-gateway completion`: what each shell offers, asked of the shell itself. zsh and fish are asked where they are installed;
 * PowerShell's script is held against the table alone where there is no PowerShell.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { actionsOf, type CommandSpec, firstWords, groups, shells, specs } from "../../src/commands/line/table.ts";
import { type Commands, startCommands, temporaryFolder } from "../support/command.ts";

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let commands: Commands;
const scripts = new Map<string, string>();

beforeAll(async () => {
  folder = await temporaryFolder();
  commands = startCommands();
  for (const shell of shells) {
    const { code, stdout, stderr } = await commands.run(["completion", shell], {});
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    scripts.set(shell, join(folder.path, shell));
    writeFileSync(join(folder.path, shell), stdout);
  }
  for (const name of ["one.yaml", "two words.yaml"]) writeFileSync(join(folder.path, name), "");
});

afterAll(async () => {
  await commands.close();
  await folder.remove();
});

const has = (shell: string) => spawnSync(shell, ["-c", "exit 0"]).status === 0;

/** Runs a program of the shell in the folder of the scripts, and returns its lines. */
function linesOf(shell: string, args: readonly string[]): string[] {
  const text = execFileSync(shell, args, {
    cwd: folder.path,
    encoding: "utf8",
    env: { ...process.env, HOME: folder.path },
  });
  return text.split("\n").filter((line) => line !== "");
}

/** How each shell is asked what it offers after these words, the last of which is being typed. */
const asked: Readonly<Record<string, (words: readonly string[]) => string[]>> = {
  bash(words) {
    const program = `source ./bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _model_gateway; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return linesOf("bash", ["--norc", "-c", program, "bash", ...words]);
  },
  zsh(words) {
    // What zsh itself does with what is offered is replaced: it needs a terminal.
    const program = `compdef() { }; _message() { }; _files() { print -l -- *(N) }
      _describe() { local offer; for offer in "\${(@P)2}"; do print -r -- "\${offer%%:*}"; done }
      source ./zsh; words=("$@"); CURRENT=$#; _model_gateway`;
    return linesOf("zsh", ["-f", "-c", program, "zsh", ...words]).filter((word) => word.startsWith(words.at(-1) ?? ""));
  },
  fish(words) {
    const line = [...words.slice(0, -1).map((word) => word.replaceAll(" ", "\\ ")), words.at(-1)].join(" ");
    const program = `source ./fish; complete -C ${JSON.stringify(line)}`;
    return linesOf("fish", ["--no-config", "-c", program]).map((offer) => offer.split("\t")[0] as string);
  },
};

const optionsOf = (name: string) =>
  Object.keys((specs.get(name) as CommandSpec).options).map((option) => `--${option}`);

for (const [shell, offers] of Object.entries(asked)) {
  describe.skipIf(!has(shell))(`in ${shell}`, () => {
    const after = (...words: string[]) => offers(["model-gateway", ...words]).sort();

    test("every command is offered at the beginning, and every second word of a group", () => {
      expect(after("")).toEqual(expect.arrayContaining([...firstWords().keys()]));
      for (const group of groups.keys()) expect(after(group, "")).toEqual(expect.arrayContaining(actionsOf(group)));
    });

    test("every option of a command is offered, and none of another", () => {
      for (const name of ["keys create", "codes create", "recharge", "backup", "health", "serve"]) {
        const offered = after(...name.split(" "), "--");
        expect(offered.filter((word) => word !== "--help" && word !== "-h")).toEqual(optionsOf(name).sort());
      }
    });

    test("what is typed narrows what is offered", () => {
      expect(after("re")).toEqual(["recharge", "reconcile", "refund", "restore"]);
      expect(after("users", "no-")).toEqual(["no-operator", "no-second-factor"]);
      expect(after("keys", "create", "--cre")).toEqual(["--credit-limit"]);
    });

    test("options before it, and values, do not lead it astray", () => {
      expect(after("keys", "create", "--account", "acme", "--na")).toEqual(["--name"]);
      expect(after("--config", "one.yaml", "keys", "dis")).toEqual(["disable"]);
      expect(after("keys", "create", "--name", "")).toEqual([]);
    });

    test("files are offered where one is wanted, by their whole names", () => {
      for (const words of [["backup"], ["restore"], ["serve", "--config"]]) {
        expect(after(...words, "one")).toEqual(["one.yaml"]);
        expect(
          after(...words, "two")
            .join()
            .replaceAll("\\", ""),
        ).toBe("two words.yaml");
      }
    });

    test("shells are offered to this command itself, and commands to help", () => {
      expect(after("completion", "")).toEqual(expect.arrayContaining([...shells]));
      expect(after("help", "rec")).toEqual(["recharge", "reconcile"]);
    });
  });
}

test("in bash a value behind the sign of equality is completed, too", () => {
  // As bash splits it.
  expect(asked.bash?.(["model-gateway", "serve", "--config", "=", "one"])).toEqual(["one.yaml"]);
  expect(asked.bash?.(["model-gateway", "serve", "--config", "="])).toEqual(expect.arrayContaining(["one.yaml"]));
});

test("the script of PowerShell has every word of the table", async () => {
  const script = (await commands.run(["completion", "powershell"], {})).stdout;
  for (const [name, { options, summary }] of specs) {
    const [, entry = ""] = new RegExp(`^ +'${name}' = @\\{ offers = (.*); takesFile`, "m").exec(script) ?? [];
    for (const option of Object.keys(options)) expect(entry).toContain(`@('--${option}', '`);
    if (name.includes(" ")) expect(script).toContain(`@('${name.split(" ")[1]}', '${summary.replaceAll("'", "''")}')`);
  }
  if (!has("pwsh")) return;
  const ask = `${script}\n(TabExpansion2 'model-gateway keys cr' 20).CompletionMatches.CompletionText`;
  expect(linesOf("pwsh", ["-NoProfile", "-Command", ask])).toEqual(["create"]);
});

test("another shell is refused with those that there are", async () => {
  for (const args of [["completion"], ["completion", "tcsh"]]) {
    const { code, stdout, stderr } = await commands.run(args, {});
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/^model-gateway: completion (?:needs SHELL|is for bash, zsh, fish, powershell)\. .*\n$/);
  }
});
