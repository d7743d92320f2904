/**
 * Tells what each command of package.json tests. A folder decides; a file that stands elsewhere is named. What is in none of these is the
 * gateway itself, in the process of the tests: `npm test`.
 */

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
