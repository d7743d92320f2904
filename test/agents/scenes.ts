/** What each agent is asked to do, and what must have come of it. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Agent, SceneName } from "./agent.ts";
import type { Played } from "./model/server.ts";
import { type Ran, runProgram } from "./spawned.ts";
import type { Stage } from "./stage.ts";

/** An agent on its stage, and what it has done so far. */
export interface Player {
  readonly agent: Agent;
  readonly file: string;
  readonly stage: Stage;
  readonly runs: Ran[];
}

/** Plays a scene; throws where it does not come out as it must. */
export type Scene = (player: Player) => Promise<void>;

/** In the order in which they are played: the last sessions go on. */
export const scenes: readonly (readonly [SceneName, Scene])[] = [
  ["tool", tool],
  ["mcp", mcp],
  ["image", image],
  ["hi", hi],
  ["resume", resume],
  ["compaction", compaction],
];

async function tool(player: Player): Promise<void> {
  const { output } = await ask(player, "Use the shell. (plan: tool)");
  expectText(output, "made-here");
  const made = await readFile(join(player.stage.work, "made.txt"), "utf8").catch(() => "no file");
  if (made !== `made-here${player.agent.fileEnd ?? ""}`) throw new Error(`the shell has made ${made}`);
}

async function mcp(player: Player): Promise<void> {
  const { output } = await ask(player, "Have pear stamped. (plan: mcp)");
  expectText(output, "stamp-raep");
  if (!existsSync(player.stage.stampLog)) throw new Error("the MCP server was not called");
}

async function image(player: Player): Promise<void> {
  const path = join(player.stage.work, "picture.png");
  const { output } = await ask(player, `What do you see? (plan: look ${path})`, { image: path });
  expectText(output, "I see 1 image");
}

async function hi(player: Player): Promise<void> {
  const { output } = await ask(player, "Say hi, and keep word-pear in mind. (plan: hi)");
  expectText(output, "Hi! I keep word-pear in mind.");
}

async function resume(player: Player): Promise<void> {
  const { output } = await ask(player, "What was it? (plan: recall)", { resume: true });
  expectText(output, "I remember word-pear");
}

/** By its own command, or by a context that is said to be full. */
async function compaction(player: Player): Promise<void> {
  const { agent, stage } = player;
  const before = stage.server.played.length;
  if (agent.compact) await ask(player, agent.compact, { resume: true });
  else await ask(player, `Go on. (plan: fill${agent.fullAt ? ` ${agent.fullAt}` : ""})`, { resume: true });
  const { output } = await ask(player, "What was it? (plan: recall)", { resume: true });
  // An agent may sum the prompt up with the rest: the word is told either way.
  expectText(output, "word-pear");
  const since = stage.server.played.slice(before);
  if (!since.some(({ reply }) => reply.plan === "side")) throw new Error("no summary was asked for");
  if (!said(since.at(-1), "Summary of the work")) throw new Error("the summary is not in the next request");
}

const said = (played: Played | undefined, words: string) =>
  played?.asked.turns.some(({ text }) => text.includes(words));

async function ask(player: Player, prompt: string, more: { resume?: boolean; image?: string } = {}): Promise<Ran> {
  const { agent, file, stage } = player;
  const { place, home, work } = stage;
  const env = { ...agent.quiet, ...agent.setup(place).env };
  const args = agent.run({ prompt, resume: false, model: place.model, ...more });
  const ran = await runProgram({ file, args, cwd: work, home, env });
  player.runs.push(ran);
  if (ran.code !== 0) throw new Error(`it ended with ${ran.code}: ${tail(ran)}`);
  return ran;
}

function expectText(output: string, text: string): void {
  if (!output.includes(text)) throw new Error(`expected “${text}” in: ${output.slice(-600)}`);
}

const tail = ({ output, errors }: Ran) => `${output}${errors}`.slice(-800);
