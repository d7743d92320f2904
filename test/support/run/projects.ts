/**
 * Tells what each command of package.json tests. A folder decides; a file that stands elsewhere is named. What is in none of these is the
 * gateway itself, in the process of the tests: `npm test`.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { importsOf, sourcesIn } from "../../../tools/figures.ts";

const root = join(import.meta.dirname, "../../..");

/** browser is what drives Chromium, and the pages that it is for: `npm run test:browser`. */
export const browser = [
  "test/dashboard/**/*.test.ts",
  "test/site/**/*.test.ts",
  "test/story/20.dashboard.test.ts",
  "test/clients/packed-client.test.ts",
];

/** project is what stands around the gateway: clients, packages, deployment, pages, benches, attacks, the demo: `npm run test:project`. */
export const project = [
  "test/clients/**/*.test.ts",
  "test/commands/demo/**/*.test.ts",
  "test/deploy/**/*.test.ts",
  "test/packaging/**/*.test.ts",
  "test/project/**/*.test.ts",
];

/** servers are the tests of storage that start Postgres; what stores and books do is tested on PGlite, too, which is in the process. */
const servers =
  "{away,broken-connections,budgets,connecting,database,due,fleet,ledgers,old-database,plans,properties,races,retention,replica/*}";

/**
 * processes is what takes processes of its own: the gateway's commands, its workers and nodes while they are killed and cut off, and while
 * something changes for all of them, servers of Postgres and Redis, full disks, and speech, which is made on threads for minutes:
 * `npm run test:processes`.
 */
export const processes = [
  "test/commands/**/*.test.ts",
  "test/composition/**/*.test.ts",
  "test/embedded/**/*.test.ts",
  "test/ledger/{changed-meanwhile,prices-changed}.test.ts",
  "test/limits/redis/**/*.test.ts",
  "test/pipeline/admit/changed-keys.test.ts",
  "test/storage/engines/owner/**/*.test.ts",
  `test/storage/engines/postgres/${servers}.test.ts`,
  "test/storage/engines/sqlite/full-disk.test.ts",
  "test/storage/moving/**/*.test.ts",
];

/** meetings are the modules by which tests, and processes that they start, meet the variables that a run may have. */
const meetings: Readonly<Record<string, readonly string[]>> = {
  TEST_DATABASE: ["test/support/storage/test-database.ts", "test/support/command.ts"],
  TEST_LIMITS: ["test/support/redis/test-limits.ts", "test/support/command.ts"],
  ACCELERATORS: ["test/support/environment.ts", "test/support/command.ts"],
};

/** usual are the values of a run that differs in nothing. */
const usual: ReadonlySet<string | undefined> = new Set([undefined, "sqlite", "memory"]);

/** beforeStores are tests of what is decided before any store is asked, though they start gateways. */
const beforeStores = ["test/doors/body/fields.test.ts"];

/** repeated returns the tests that cannot differ by the variables of this run: the run without them has them already. */
export function repeated(environment: NodeJS.ProcessEnv): string[] {
  const given = Object.keys(meetings).filter((name) => !usual.has(environment[name]));
  if (given.length === 0) return [];
  const met = new Set(given.flatMap((name) => meetings[name] ?? []));
  const others = sourcesIn("test").filter(
    (path) => path.endsWith(".test.ts") && !filesOf(path).some((one) => met.has(one)),
  );
  return given.includes("ACCELERATORS") ? others : [...others, ...beforeStores];
}

/** filesOf returns a file and all of the tests' files that it imports, by itself and by others. Nothing of src imports one. */
export function filesOf(path: string): string[] {
  const files = new Set([path]);
  for (const file of files) for (const next of importsOf(file)) if (isOfTests(next)) files.add(next);
  return [...files];
}

/** isOfTests reports whether an import leads to a file of the tests. One that a test writes for a process may lead nowhere. */
function isOfTests(path: string): boolean {
  return path.startsWith("test/") && path.endsWith(".ts") && existsSync(join(root, path));
}
