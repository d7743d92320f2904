/** The two parts of docs/clients.md that are written here: what was tried, and what each agent's user sets. All else is by hand. */
import { readFile, writeFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { root } from "../support/command.ts";
import { type Agent, type Place, type SceneName, sceneNames } from "./agent.ts";
import { agents } from "./agents.ts";
import type { Row } from "./row.ts";

export const pagePath = join(root, "docs/clients.md");

/** Writes the page; of the table the rows that were played, for the others stay. */
export async function writeClientsPage(rows: readonly Row[]): Promise<void> {
  const page = await readFile(pagePath, "utf8");
  const known = lineByKey(partOf(page, "table"));
  for (const row of rows) known.set(keyOf(row), lineOf(row));
  const order = agents.flatMap(({ title, package: name, version }) =>
    ["openai", "anthropic", "strict"].map((upstream) => cellsOf(title, name, version, upstream)),
  );
  const lines = order.flatMap((key) => known.get(key) ?? []);
  const table = [...head, ...lines, "", ...lackWords(agents)].join("\n");
  await writeFile(pagePath, withPart(withPart(page, "table", table), "settings", settings()));
}

const head = [`| agent | upstream | ${sceneNames.join(" | ")} |`, `|---|---|${sceneNames.map(() => "---").join("|")}|`];

const cellsOf = (title: string, name: string, version: string, upstream: string) =>
  `| ${title} (\`${name}\` ${version}) | ${upstream} |`;

const keyOf = ({ agent: { title, package: name, version }, upstream }: Row) => cellsOf(title, name, version, upstream);

function lineByKey(table: string): Map<string, string> {
  const lines = table.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| agent |"));
  return new Map(lines.map((line) => [line.split("|").slice(0, 3).join("|").concat("|"), line]));
}

function lineOf(row: Row): string {
  const marks = sceneNames.map((name) => markOf(row, name));
  return `${keyOf(row)} ${marks.join(" | ")} |`;
}

function markOf({ scenes, faults }: Row, name: SceneName): string {
  if (!scenes.has(name)) return "–";
  return scenes.get(name) === undefined && faults.length === 0 ? "✓" : "✗";
}

/** Says why scenes were not played. */
function lackWords(all: readonly Agent[]): string[] {
  return all.flatMap(({ title, lacks }) =>
    sceneNames.flatMap((name) => (lacks[name] ? [`- ${title}, ${name}: ${lacks[name]}.`] : [])),
  );
}

/** Where the page's reader runs an agent. */
const example: Place = {
  rootUrl: "http://127.0.0.1:8080",
  apiKey: "YOUR_KEY",
  model: "MODEL",
  mcp: { command: "node", args: ["/path/to/your-mcp-server.js"], env: { ANY: "variable" } },
};

/** Returns the part of the page with what each agent's user sets, as the agents of the test have it: the first of each package. */
export function settings(): string {
  const seen = new Set<string>();
  const firsts = agents.filter(({ package: name }) => !seen.has(name) && seen.add(name));
  return firsts.map(settingsOf).join("\n\n");
}

function settingsOf(agent: Agent): string {
  const { env, files } = agent.setup(example);
  const variables = Object.entries(env).map(([key, value]) => `export ${key}=${value}`);
  return [
    `### ${agent.title}`,
    `It speaks ${agent.speaks}. ${agent.notes}`,
    ...(variables.length > 0 ? [fenced("sh", variables.join("\n"))] : []),
    ...Object.entries(files).flatMap(([path, text]) => [`\`~/${path}\`:`, fenced(languageOf(path), text.trim())]),
  ].join("\n\n");
}

const fenced = (language: string, text: string) => `\`\`\`${language}\n${text}\n\`\`\``;
const languageOf = (path: string) => extname(path).slice(1);

const begin = (name: string) => `<!-- ${name}: written by npm run test:agents -- --write -->`;
const end = (name: string) => `<!-- end of ${name} -->`;

export function partOf(page: string, name: string): string {
  const from = page.indexOf(begin(name));
  const to = page.indexOf(end(name));
  if (from < 0 || to < from) throw new Error(`docs/clients.md has no place for its ${name}`);
  return page.slice(from + begin(name).length, to).trim();
}

function withPart(page: string, name: string, text: string): string {
  const from = page.indexOf(begin(name)) + begin(name).length;
  return `${page.slice(0, from)}\n\n${text}\n\n${page.slice(page.indexOf(end(name)))}`;
}
