/**
 * `npm run test:image [-- --executable FILE]`: runs the steps of deploy/docker/Dockerfile without an engine, and what they leave as an
 * engine would, and prints what holds. Ends with 1 where something does not. It needs root, debootstrap and Linux; the first time takes
 * some minutes, for it makes Debian's root, which is kept in node_modules/.cache/image.
 *
 * `--executable` takes one that is built already, in the place of the building stage.
 */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { freePort } from "../../bench/free-port.ts";
import { helpFirst } from "../../tools/program-help.ts";
import { root } from "../support/command.ts";
import { type Container, kilobytesOf, startContainer } from "./container.ts";
import { configOf, type ImageConfig, type Stage, stagesOf } from "./dockerfile.ts";
import { runStages } from "./steps.ts";

helpFirst(import.meta.filename);

const { values } = parseArgs({ options: { executable: { type: "string" } } });
const folder = join(root, "node_modules/.cache/image");
const begun = performance.now();
const stages = stagesOf(readFileSync(join(root, "deploy/docker/Dockerfile"), "utf8"));
const image = configOf(stages.at(-1) as Stage);
const { executable } = values;
const made = new Map(executable === undefined ? [] : [["build", new Map([["/out/model-gateway", executable]])]]);
const given = { TARGETARCH: process.arch === "arm64" ? "arm64" : "amd64" };

const seconds = () => `${((performance.now() - begun) / 1000).toFixed(1)} s`.padStart(8);
let failures = 0;
function tell(what: string, isSo: boolean, figure = ""): void {
  if (!isSo) failures++;
  console.log(`${seconds()}  ${isSo ? "✓" : "✗"} ${what}${figure && `: ${figure}`}`);
}

const at = runStages(stages, {
  folder,
  given,
  made,
  onStep: (text) => console.log(`${seconds()}  ${text.slice(0, 110)}`),
});
tell("the image is made", true, `${(kilobytesOf(at) / 1024).toFixed(0)} MiB, Debian included`);
const volume = join(folder, "volume");
rmSync(volume, { recursive: true, force: true });
const ports = { PORT: `${await freePort()}`, METRICS_PORT: `${await freePort()}` };
const address = `http://127.0.0.1:${ports.PORT}`;

const key = await life("the first start", async (container) => {
  tellIsolation(container, image);
  container.exec(["model-gateway", "accounts", "create", "--name", "acme"]);
  const { output } = container.exec(["model-gateway", "keys", "create", "--account", "acme", "--name", "one"]);
  const secret = /sk-[\w-]+/.exec(output)?.[0] ?? "";
  tell("a command makes a key", secret !== "", secret === "" ? output : "");
  container.exec(["model-gateway", "grant", "--account", "acme", "--amount", "1000"]);
  await tellServed(secret);
  const backup = container.exec(["model-gateway", "backup", "/data/backup.db"]);
  tell("a back-up is made while it serves", backup.code === 0, backup.output.trim());
  return secret;
});
await life("the next start", async () => {
  tell("the data is still there", (await chat(key)).status === 200);
});
console.log(`${failures} failures`);
process.exitCode = failures > 0 ? 1 : 0;

/** Runs a container from its start to its stop. */
async function life<T>(what: string, during: (container: Container) => Promise<T>): Promise<T> {
  const from = performance.now();
  const container = await startContainer({ at, image, volume, env: ports });
  try {
    const isReady = await until(async () => (await fetch(`${address}/readyz`)).status === 200);
    tell(`${what} is ready`, isReady, isReady ? `${(performance.now() - from).toFixed(0)} ms` : container.output());
    const health = image.healthcheck?.command ?? [];
    const healthy = container.exec(health);
    tell("its own check says that it is healthy", healthy.code === 0, healthy.output.trim());
    const elsewhere = container.exec(["/usr/bin/env", `PORT=${await freePort()}`, ...health]);
    tell("and finds one that does not serve unhealthy", elsewhere.code === 1, elsewhere.output.trim());
    return await during(container);
  } finally {
    const { code, ms } = await container.stop();
    tell(`${image.stopSignal} stops it`, code === 0, `exit code ${code}, ${ms.toFixed(0)} ms`);
  }
}

/** Tells whether the process may do no more than the image lets it. */
function tellIsolation({ pid, exec }: Container, { user }: ImageConfig): void {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const of = (name: string) => new RegExp(`^${name}:\\s+(.*)$`, "m").exec(status)?.[1]?.split(/\s+/) ?? [];
  tell("it is process 1 of its own", of("NSpid").at(-1) === "1");
  tell(
    "it is not root",
    of("Uid").every((id) => id === user.split(":")[0]),
    `user ${of("Uid")[0]}`,
  );
  tell(
    "it has no capability",
    of("CapEff")
      .concat(of("CapBnd"))
      .every((set) => /^0+$/.test(set)),
  );
  tell("it cannot gain privileges", of("NoNewPrivs")[0] === "1");
  for (const path of ["/usr/local/bin/other", "/etc/other", "/other"]) {
    const { code, output } = exec(["/bin/sh", "-c", `echo 1 > ${path}`]);
    tell(`it cannot write ${path}`, code !== 0, output.trim().replace(/^.*: /, ""));
  }
}

async function tellServed(secret: string): Promise<void> {
  const answer = await chat(secret);
  tell("a chat is answered", answer.status === 200 && (await answer.text()).includes("choices"), `${answer.status}`);
  const page = await fetch(`${address}/dashboard`);
  tell("the dashboard is there", page.status === 200 && (await page.text()).includes("<script"), `${page.status}`);
  const docs = await fetch(`${address}/docs/`);
  tell("the documentation is there", docs.status === 200 && (await docs.text()).includes("<html"), `${docs.status}`);
  const speech = await post("/v1/audio/speech", secret, {
    model: "tts-1",
    input: "Hello, how are you?",
    voice: "nova",
  });
  const sound = await speech.arrayBuffer();
  tell("speech is spoken", speech.status === 200 && sound.byteLength > 1000, `${sound.byteLength} bytes`);
  const metrics = await (await fetch(`http://127.0.0.1:${ports.METRICS_PORT}/metrics`)).text();
  tell("metrics are read", metrics.includes("model_gateway_requests_total"));
}

function chat(secret: string): Promise<Response> {
  return post("/v1/chat/completions", secret, {
    model: "embedded-chat",
    messages: [{ role: "user", content: "Hello!" }],
  });
}

function post(path: string, secret: string, body: object): Promise<Response> {
  const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" };
  return fetch(`${address}${path}`, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(30_000),
  });
}

async function until(isSo: () => Promise<boolean>): Promise<boolean> {
  for (const deadline = performance.now() + 30_000; performance.now() < deadline; ) {
    if (await isSo().catch(() => false)) return true;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return false;
}
