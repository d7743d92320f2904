/**
 * Tries an upstream as the gateway would ask it: its list of models, and a small call of one of them. No account pays, nothing is
 * recorded, and each step ends within ten seconds.
 */
import type { JsonObject } from "@bufbuild/protobuf";
import { type Operation, operations } from "../../call/operations.ts";
import { Reason, Refusal, upstreamAnswered } from "../../call/refusals.ts";
import type { ToldUsage } from "../../call/usage.ts";
import type { Config, ModelConfig, UpstreamConfig } from "../../config/config.ts";
import { connectionReason, hostOf } from "../../config/discovery/connection-failure.ts";
import { askForModels, type ListAnswer, type ModelList } from "../../config/discovery/model-list.ts";
import { servedBy } from "../../config/schema-models.ts";
import { maskOf } from "../../config/stored/masks.ts";
import type { Attempt, Provider, Speak } from "../../providers/contract.ts";
import { runNow } from "../../runtime/cooperative.ts";
import { newId } from "../../runtime/ids.ts";
import { Wire } from "../../wire/wire.ts";
import type { TestParameters, TestWord } from "./test-reasons.ts";

export interface TestOptions {
  /** config has the models that are configured, by which one is chosen that nobody has named. */
  readonly config: Config;
  readonly model: string | undefined;
  readonly kind: "chat" | "embedding" | "speech" | undefined;
  readonly skipsList: boolean;
  readonly skipsCall: boolean;
}

/** TestedStep is what came of a step of a test. */
export interface TestedStep {
  readonly kind: "list_models" | "call";
  readonly outcome: "ok" | "failed" | "unknown" | "skipped";
  readonly reason: TestWord;
  readonly parameters?: TestParameters;
  readonly latencyMs: number;
  readonly modelCount?: number | undefined;
  readonly models?: readonly string[] | undefined;
  readonly model?: string | undefined;
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
  readonly status?: number | undefined;
}

/** TestUpstream tries an upstream. Never throws. */
export type TestUpstream = (upstream: UpstreamConfig, options: TestOptions) => Promise<readonly TestedStep[]>;

/** CreateProvider makes the provider of an upstream, for this test alone. */
type CreateProvider = (upstream: UpstreamConfig) => Provider;

/** stepMs is how long a step may take, in milliseconds. */
const stepMs = 10_000;
/** The most tokens of output that the call asks for. */
const outputTokens = 32;
/** maxTold is the most models of a list that are told; maxKeys is the most keys that are tried. */
const [maxTold, maxKeys] = [100, 20];

export function createTestUpstream(createProvider: CreateProvider): TestUpstream {
  return async (upstream, options) => {
    const bounded = { ...upstream, timeouts: boundedTimeouts(upstream.timeouts) };
    const listed = options.skipsList ? undefined : await listModels(bounded);
    const steps = listed ? [listed.step] : [];
    if (options.skipsCall) return steps;
    // A server that cannot be reached would only be waited for once more.
    if (listed?.step.outcome === "failed") return [...steps, skipped("STEP_BEFORE_FAILED")];
    return [...steps, await callModel(bounded, options, listed?.list, createProvider)];
  };
}

type TestTimeouts = NonNullable<UpstreamConfig["timeouts"]>;

function boundedTimeouts(own: UpstreamConfig["timeouts"]): TestTimeouts {
  const within = (seconds: number | undefined) => Math.min(seconds ?? stepMs, stepMs / 1000);
  return {
    connect_seconds: within(own?.connect_seconds),
    first_byte_seconds: within(own?.first_byte_seconds),
    idle_seconds: within(own?.idle_seconds),
    total_seconds: within(own?.total_seconds),
  };
}

interface Listed {
  readonly step: TestedStep;
  readonly list: ModelList | undefined;
}

/** listModels asks for the models by each key: one that is refused is named. */
async function listModels(upstream: UpstreamConfig): Promise<Listed> {
  const begun = performance.now();
  const keys = upstream.api_keys?.slice(0, maxKeys) ?? [upstream.api_key];
  const answers = await Promise.all(keys.map((key) => askBy(upstream, key)));
  const latencyMs = performance.now() - begun;
  const refused = answers.findIndex(({ kind }) => kind === "refused");
  const answer = answers[Math.max(0, refused)] ?? (answers[0] as ListAnswer);
  const key = keys.length > 1 && refused >= 0 ? maskOf(keys[refused] ?? "") : "";
  const list = answer.kind === "list" ? answer.list : undefined;
  return { step: { kind: "list_models", latencyMs, ...listStep(answer, key) }, list };
}

function askBy({ api_keys: _, ...upstream }: UpstreamConfig, key: string | undefined): Promise<ListAnswer> {
  return askForModels({ ...upstream, api_key: key }, AbortSignal.timeout(stepMs), stepMs);
}

type ListStep = Pick<TestedStep, "outcome" | "reason" | "parameters" | "modelCount" | "models" | "status">;

/** listStep says what came of asking for the list. `key` is the mask of the key that was refused, where there are several. */
function listStep(answer: ListAnswer, key: string): ListStep {
  if (answer.kind === "list") {
    const { size } = answer.list;
    if (size === 0) return { outcome: "unknown", reason: "NO_MODELS_LISTED", modelCount: 0 };
    const models = [...answer.list.keys()].slice(0, maxTold);
    return { outcome: "ok", reason: "MODELS_LISTED", parameters: { models: String(size) }, modelCount: size, models };
  }
  const { kind, reason, parameters } = answer;
  const { status } = parameters;
  return {
    outcome: kind === "untold" ? "unknown" : "failed",
    reason,
    parameters: reason === "CREDENTIAL_REFUSED" ? { ...parameters, key } : parameters,
    ...(status === undefined ? {} : { status: Number(status) }),
  };
}

function skipped(reason: TestWord, parameters: TestParameters = {}): TestedStep {
  return { kind: "call", outcome: "skipped", reason, parameters, latencyMs: 0 };
}

interface Chosen {
  readonly name: string;
  readonly kind: ModelConfig["kind"];
}

/** chooseModel returns the model to call: the one that is named, or the cheapest that the gateway would call there, or a listed one. */
function chooseModel(upstream: UpstreamConfig, options: TestOptions, list: ModelList | undefined): Chosen | undefined {
  const { config, model, kind } = options;
  const of = (name: string): Chosen => {
    const known = config.models.find(({ targets }) => targets.some((one) => isAt(one, upstream) && one.model === name));
    const builtIn = config.catalogue.find((one) => one.id === name);
    return { name, kind: kind ?? known?.kind ?? builtIn?.kind ?? list?.get(name)?.kind ?? "chat" };
  };
  if (model !== undefined) return of(model);
  const isWanted = (one: Chosen) => (kind === undefined ? one.kind === "chat" : one.kind === kind);
  const isListed = (name: string) => !list || list.size === 0 || list.has(name);
  const candidates = [...placedAt(upstream, config.models), ...ofVendor(upstream, config.catalogue)]
    .filter(({ name }) => isListed(name))
    .sort((a, b) => a.price - b.price);
  const listed = [...(list?.keys() ?? [])].map(of);
  return candidates.find(isWanted) ?? listed.find(isWanted) ?? candidates[0] ?? listed[0];
}

function isAt(target: ModelConfig["targets"][number], { name }: UpstreamConfig): boolean {
  return target.upstream === name;
}

function placedAt(upstream: UpstreamConfig, models: readonly ModelConfig[]) {
  return models.flatMap(({ targets, kind, price }) =>
    targets.filter((one) => isAt(one, upstream)).map(({ model }) => ({ name: model, kind, price: priceOf(price) })),
  );
}

function ofVendor({ name, vendor = name, kind: speaks }: UpstreamConfig, catalogue: readonly ModelConfig[]) {
  return catalogue
    .filter((model) => model.vendor === vendor && servedBy[speaks].includes(model.kind))
    .map(({ id, kind, price }) => ({ name: id, kind, price: priceOf(price) }));
}

function priceOf(price: ModelConfig["price"]): number {
  return price?.output ?? price?.input ?? price?.characters ?? Number.MAX_SAFE_INTEGER;
}

async function callModel(
  upstream: UpstreamConfig,
  options: TestOptions,
  list: ModelList | undefined,
  createProvider: CreateProvider,
): Promise<TestedStep> {
  const chosen = chooseModel(upstream, options, list);
  if (!chosen) return skipped("NO_MODEL_KNOWN");
  const provider = createProvider(upstream);
  const begun = performance.now();
  const base = { kind: "call" as const, model: chosen.name };
  let told: ToldUsage = {};
  try {
    const found = requestFor(chosen, provider);
    if (!found) return skipped("KIND_NOT_SERVED", { kind: chosen.kind });
    await found.speak(attemptOf(upstream, chosen.name, found, (usage) => (told = { ...told, ...usage })));
    const latencyMs = performance.now() - begun;
    return {
      ...base,
      outcome: "ok",
      reason: "MODEL_ANSWERED",
      parameters: { model: chosen.name },
      latencyMs,
      ...tokensOf(told),
    };
  } catch (error) {
    const latencyMs = performance.now() - begun;
    return { ...base, outcome: "failed", ...failedStep(error, upstream, chosen.name, latencyMs), latencyMs };
  } finally {
    void provider.close().catch(() => {});
  }
}

function tokensOf({ input, cacheRead = 0, cacheWrite = 0, output }: ToldUsage) {
  return {
    ...(input === undefined ? {} : { inputTokens: input + cacheRead + cacheWrite }),
    ...(output === undefined ? {} : { outputTokens: output }),
  };
}

interface TestRequest {
  readonly operation: Operation;
  readonly request: Wire;
  readonly speak: Speak<Operation>;
}

const asked = "Reply with the word OK.";

/** requestFor returns a small request for a model, as the upstream takes it; undefined where it speaks no operation for it. */
function requestFor({ name, kind }: Chosen, provider: Provider): TestRequest | undefined {
  const fitter = provider.fitter?.(name, undefined);
  const bound = fitter?.outputBound ?? "max_tokens";
  const messages = [{ role: "user", content: asked }];
  const requests: readonly (readonly [Operation, JsonObject])[] = [
    ["chat", { model: name, messages, [bound]: outputTokens }],
    ["messages", { model: name, messages, max_tokens: outputTokens }],
    ["responses", { model: name, input: asked, max_output_tokens: outputTokens }],
    ["completions", { model: name, prompt: asked, max_tokens: outputTokens }],
    ["embeddings", { model: name, input: "OK" }],
    ["speech", { model: name, input: "OK", voice: "alloy" }],
  ];
  // A server may take all chat calls by its /responses.
  const prefers = fitter?.responses === "always" && provider.speaks.responses ? "responses" : undefined;
  const fitting = requests.filter(([operation]) => operations[operation].kind === kind && provider.speaks[operation]);
  const [operation, json] = fitting.find(([one]) => one === prefers) ?? fitting[0] ?? [];
  if (operation === undefined || json === undefined) return undefined;
  const request = Wire.ofJson(operations[operation].input, json) as Wire;
  const fitted = fitter ? runNow(fitter.fit(operation, request, false)).request : request;
  return { operation, request: fitted, speak: provider.speaks[operation] as Speak<Operation> };
}

function attemptOf(
  { name: upstream, kind }: UpstreamConfig,
  model: string,
  { operation, request }: TestRequest,
  reportUsage: (usage: ToldUsage) => void,
): Attempt<Operation, "whole"> {
  const now = Date.now();
  const record = { upstream, kind, model, modelId: model, begunAt: now, sentAt: performance.now() };
  return {
    id: newId("req", now),
    ...{ operation, request: request as Attempt["request"], model, form: "whole" },
    header: () => undefined,
    traceHeaders: {},
    signal: AbortSignal.timeout(stepMs),
    timeouts: {},
    priority: 0,
    meter: { reportUsage, countText() {}, reportGivenUp() {}, reportEnd() {} },
    record: { ...record, queuedMs: 0, waitedMs: 0 },
  };
}

type FailedStep = Pick<TestedStep, "reason" | "parameters" | "status">;

/** failedStep says why a call failed. The upstream's own words are those that callers see: its secrets are taken out of them. */
function failedStep(error: unknown, { base_url }: UpstreamConfig, model: string, latencyMs: number): FailedStep {
  if (!(error instanceof Refusal)) return { reason: "GATEWAY_FAILED" };
  const { upstreamStatus = error.status, misconfigured, cause } = error;
  const status = upstreamStatus;
  const answered = { status: String(status) };
  if (misconfigured === "credential")
    return { reason: "CREDENTIAL_REFUSED", parameters: { ...answered, key: "" }, status };
  if (misconfigured === "account") return { reason: "CREDIT_USED_UP", parameters: answered, status };
  if (misconfigured === "model") return { reason: "MODEL_NOT_FOUND", parameters: { ...answered, model }, status };
  if (error.reason === Reason.UPSTREAM_REFUSED) {
    if (status === 429) return { reason: "RATE_LIMITED", parameters: answered, status };
    return { reason: "CALL_REFUSED", parameters: { ...answered, words: quotedOf(error) }, status };
  }
  const host = hostOf(base_url);
  if (error.reason === Reason.UPSTREAM_TIMEOUT || error.reason === Reason.CANCELLED)
    return { reason: "NO_ANSWER", parameters: { host, milliseconds: String(Math.round(latencyMs)) } };
  if (error.isUnserved) return { reason: "OPERATION_NOT_FOUND", parameters: { model } };
  if (lacksPath.has(status)) return { reason: "CALL_REFUSED", parameters: { ...answered, words: "" }, status };
  if (error.upstreamStatus !== undefined)
    return { reason: isRedirect(status) ? "REDIRECTED" : "STATUS_REFUSED", parameters: answered, status };
  const { code = "" } = (cause ?? {}) as NodeJS.ErrnoException;
  const reason = connectionReason(cause);
  return reason ? { reason, parameters: { host, code } } : { reason: "ANSWER_UNUSABLE" };
}

/** lacksPath are the statuses of a server that serves nothing at a path. */
const lacksPath: ReadonlySet<number> = new Set([404, 405, 501]);

function isRedirect(status: number): boolean {
  return status >= 300 && status < 400;
}

/** quotedOf returns the upstream's own words; empty where the gateway's stand for them. */
function quotedOf({ message, status }: Refusal): string {
  return message === upstreamAnswered(status) ? "" : message.slice(0, maxQuoted);
}

/** The most characters of an upstream's message that are told. */
const maxQuoted = 500;
