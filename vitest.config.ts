import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { browser, processes, project } from "./test/support/run/projects.ts";

/** Files that count what their process does, or pass much through its memory: each has one of its own. All others share a process. */
const alone = ["test/families/translate-by-template.test.ts", "test/providers/responses/responses-ends.test.ts"];

/** Files that take longest, for they wait for processes and clocks, and are short: none is to be waited for in the end. */
const longest = [
  ...["clients/examples", "clients/packed-client", "project/hostile"],
  ...["project/docs", "project/bench", "commands/demo/demo"],
  ...["dashboard/pages", "dashboard/palette", "dashboard/keys", "dashboard/tools", "story/20.dashboard"],
  ...["commands/workers/lives", "commands/commands", "providers/errors/faults", "storage/moving/killed"],
  ...["composition/reload", "commands/workers/workers", "embedded/speech-worker", "embedded/speech"],
  ...["storage/engines/postgres/budgets", "storage/engines/owner/away", "storage/engines/owner/owners"],
  ...["doors/listener/keyless-connections", "composition/crash", "ledger/races", "commands/workers/owners"],
  ...["commands/workers/handed-over", "composition/lost-calls", "pipeline/admit/changed-keys"],
  ...["telemetry/log-lines", "commands/bad-start", "commands/zero-configuration", "wire/scan/linear"],
].map((path) => `/test/${path}.test.ts`);

/** A process runs files of one project, and ends where another's come next. */
const projectOrder = ["alone", "project", "browser", "processes", "gateway"];

/** Runs one project after another, each beginning with the files that take longest, and going on as Vitest does: by duration or size. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ project }: TestSpecification) => projectOrder.indexOf(project.name);
    const rank = ({ moduleId }: TestSpecification) =>
      longest.findIndex((path) => moduleId.endsWith(path)) + 1 || longest.length + 1;
    return (await super.sort(files)).sort((a, b) => place(a) - place(b) || rank(a) - rank(b));
  }
}

/**
 * ofEngines are the tests that start the engines that they are about: a run on another database (`test/support/run/start-servers.ts`)
 * leaves it out.
 */
const ofEngines =
  (process.env.TEST_DATABASE ?? "sqlite") === "sqlite" ? [] : ["test/storage/engines/**", "test/storage/moving/**"];

const every = ["test/**/*.test.ts"];

/** isAll is whether all run, as in CI. The gateway's tests are one project then: while some wait for processes, others have the cores. */
const isAll = process.env.TEST_ALL !== undefined;

/** Returns a part of the tests, by the name that `vitest --project` knows. */
function of(name: string, test: { include: string[]; exclude?: string[]; isolate?: boolean }) {
  return { extends: true as const, test: { name, ...test } };
}

export default defineConfig({
  test: {
    globalSetup: ["test/support/run/start-servers.ts", "test/support/run/bundle-gateway.ts"],
    // Real sockets and processes on a machine that does other things too: this bounds what hangs, and times nothing.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 40_000 } },
    // More than there are cores: most files wait for processes and sockets half of their time.
    maxWorkers: 2 * availableParallelism(),
    sequence: { sequencer: LongestFirst },
    env: { NODE_COMPILE_CACHE: fileURLToPath(new URL("node_modules/.cache/compiled", import.meta.url)) },
    setupFiles: ["test/support/run/setup.ts"],
    // The size is about that of a gateway: with V8's own a tenth of the time is for collecting what died young. More threads that collect
    // would have no core for themselves.
    execArgv: ["--max-semi-space-size=64", "--single-threaded-gc"],
    // Node loads the modules, as it does where the gateway runs from source. What Vite makes of them takes a quarter more of the CPU: each
    // use of an import is a call.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // `npm test` runs the first two, which are the gateway itself in the process of the tests. To load its modules for each file took a tenth
    // of the time: they are loaded once a process.
    projects: [
      of("gateway", {
        include: every,
        exclude: [...alone, ...browser, ...project, ...(isAll ? [] : processes), ...ofEngines],
        isolate: false,
      }),
      of("alone", { include: alone }),
      of("browser", { include: browser, isolate: false }),
      of("project", { include: project, exclude: browser, isolate: false }),
      ...(isAll ? [] : [of("processes", { include: processes, exclude: [...project, ...ofEngines], isolate: false })]),
    ],
  },
});
