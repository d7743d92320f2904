/** Builds every service, and the way of a model call behind them. */
import { AccountService } from "../../gen/modelgateway/v1/accounts_pb.ts";
import { InferenceService } from "../../gen/modelgateway/v1/inference_pb.ts";
import { KeyService } from "../../gen/modelgateway/v1/keys_pb.ts";
import { OperatorService } from "../../gen/modelgateway/v1/operator_pb.ts";
import { SessionService } from "../../gen/modelgateway/v1/sessions_pb.ts";
import { UsageService } from "../../gen/modelgateway/v1/usage_pb.ts";
import type { Caller } from "../call/call.ts";
import { inUnits } from "../config/catalogue/currency.ts";
import type { Config, UpstreamConfig } from "../config/config.ts";
import { embeddedUpstream } from "../config/references.ts";
import { createKeyRing } from "../config/stored/key-ring.ts";
import { createStoredConfiguration } from "../config/stored/stored-configuration.ts";
import { createLimitsLeft } from "../pipeline/admit/limits-left.ts";
import { createModelRates } from "../pipeline/admit/model-rates.ts";
import { type CaptureOptions, createCapture } from "../pipeline/charge/capture.ts";
import { createKeptPrices } from "../pipeline/charge/kept-prices.ts";
import { createValidate } from "../pipeline/check/validate.ts";
import { createCandidatesFor } from "../pipeline/complete/candidates.ts";
import { type Complete, createComplete } from "../pipeline/complete/complete.ts";
import { createExplain, type Explain } from "../pipeline/complete/explain.ts";
import { createHedge } from "../pipeline/complete/hedge.ts";
import { withKeyConcurrency } from "../pipeline/complete/key-concurrency.ts";
import { createSend } from "../pipeline/complete/send.ts";
import { type ServedService, serve } from "../pipeline/handle.ts";
import { createCacheState, withCache } from "../pipeline/replay/cache.ts";
import { createReplays } from "../pipeline/replay/replay.ts";
import { accountService } from "../services/accounts/accounts.ts";
import { createTestUpstream } from "../services/configuration/test-upstream.ts";
import { inferenceService } from "../services/inference/inference.ts";
import { withReplays } from "../services/inference/replayed-calls.ts";
import { keyService } from "../services/keys/keys.ts";
import type { KnownModels } from "../services/operator/described-models.ts";
import { operatorService } from "../services/operator/operator.ts";
import { upstreamStates } from "../services/operator/upstream-message.ts";
import { sessionService } from "../services/people/sessions.ts";
import { usageService } from "../services/usage/usage.ts";
import { createCatalog } from "../targets/catalog.ts";
import { createProvider } from "./live/providers.ts";
import type { Parts, Shared } from "./parts.ts";
import { logFailures } from "./trouble-log.ts";

export function createServices(parts: Parts, shared: Shared): ServedService[] {
  const { config, live, storage, log, clock } = parts;
  const settings = live.current;
  const { catalog, limit } = shared;
  const { complete, explain } = createModelCalls(parts, shared);
  const { background } = shared;
  const onError = logFailures(log, "a response could not be kept, and was returned as such");
  const responses = { store: storage.responses, background, clock, settings, onError };
  const { keys, transact, budgets, recall, allKnow } = storage;
  const { accountRate, making } = limit;
  const unit = config.unit.code;
  const limiter = shared.limits.attempts;
  const services = [InferenceService, KeyService, AccountService, UsageService, SessionService, OperatorService];
  const upstreams = () => upstreamsOf(parts, shared);
  const models = knownModelsOf(shared, settings);
  const { queued } = shared.queues;
  const explaining = { explain, accountRate, queued };
  const inference = inferenceService({ catalog, complete, settings, responses, explain: explaining });
  const replaying = { store: storage.replays, mayLive: storage.mayLive, clock };
  return [
    serve(InferenceService, withReplays(inference, createReplays({ ...shared, ...replaying }))),
    serve(
      KeyService,
      keyService({
        keys,
        transact,
        budgets,
        recall,
        allKnow,
        catalog,
        clock,
        settings,
        unit,
        accountRate,
        countCreation: making,
      }),
    ),
    serve(AccountService, accountService({ ...storage, catalog, settings, unit, clock, accountRate })),
    serve(UsageService, usageService({ ...storage, clock })),
    serve(SessionService, sessionService({ storage, limiter, settings, unit: config.unit, docs: config.docs, clock })),
    serve(
      OperatorService,
      operatorService({ storage, settings, clock, services, upstreams, models, ...configurationOf(parts, shared) }),
    ),
  ];
}

/** configurationOf returns what the operator's RPCs for the configuration work on. */
function configurationOf({ source, storage, config, clock }: Parts, { accelerators }: Shared) {
  const alone = () =>
    createStoredConfiguration({ rows: storage.configurations, keys: createKeyRing(config), environment: {} });
  const create = (upstream: UpstreamConfig) => createProvider(upstream, { clock, ...accelerators });
  return { stored: source?.stored ?? alone(), testUpstream: createTestUpstream(create) };
}

const lossWords =
  "a call used more than was held for it, which nobody is charged: look at the bounds and prices of its model";

const doubtWords =
  "an upstream reported usage that cannot be true, and the call is charged for what the gateway counted: look at the upstream";

interface ModelCalls {
  readonly complete: Complete;
  readonly explain: Explain;
}

/** The way of a model call: where it may go, sending it, and charging it; and what tells of it without going it. */
function createModelCalls({ live, storage, log, clock, random }: Parts, shared: Shared): ModelCalls {
  const settings = live.current;
  const { catalog, upstreams, targets, ledger, counting, drains, limit, cache, onError } = shared;
  const { rates: limiter, keyPlaces } = shared.limits;
  const modelRates = createModelRates(limiter);
  const onUsed: CaptureOptions["onUsed"] = (caller, model, tokens) => {
    void limit.used(caller, tokens).catch(onError);
    if (caller.limits) void modelRates.used(caller, model, tokens).catch(onError);
  };
  const onWaived: CaptureOptions["onWaived"] = ({ id, record: { model, attempts } }, waived) =>
    log.warn({ request_id: id, model, upstream: attempts.at(-1)?.upstream, waived_millionths: waived }, lossWords);
  const onImplausible: CaptureOptions["onImplausible"] = ({ id, record: { model, attempts } }) =>
    log.warn({ request_id: id, model, upstream: attempts.at(-1)?.upstream }, doubtWords);
  const keepPrice = (priceId: string, card: string) => storage.prices.keep(priceId, card, clock());
  const keptPrices = createKeptPrices({ keep: keepPrice, onError });
  const capture = createCapture({ ledger, keptPrices, clock, onUsed, onWaived, onImplausible, onError });
  const hedge = createHedge(() => settings().hedging?.share ?? 0);
  const send = createSend({ targets, hedge, clock, random });
  const candidatesFor = createCandidatesFor({ catalog, providers: upstreams.providers, targets, random });
  const { available, budgets } = storage;
  const budgetsLeft = ({ accountId, keyId, budgets: terms }: Caller) =>
    terms ? budgets.left(accountId, keyId, terms, clock()) : [];
  const complete = createComplete({
    candidatesFor,
    send,
    ledger,
    modelRates,
    capture,
    counting,
    drains,
    settings,
    clock,
  });
  const caching = { cache, catalog, ledger, clock, onError, settings };
  const cacheState = createCacheState(caching);
  return {
    complete: withKeyConcurrency(withCache(complete, caching), keyPlaces),
    explain: createExplain({
      validate: createValidate(),
      candidatesFor,
      targets,
      available,
      budgetsLeft,
      limitsLeft: createLimitsLeft({ limiter, places: keyPlaces, clock }),
      cacheState,
      settings,
      clock,
    }),
  };
}

function upstreamsOf({ live }: Parts, { catalog, health, targets, queues }: Shared) {
  const embedded = { name: embeddedUpstream, kind: "embedded", base_url: "" };
  const monitor = { ...targets, ...queues, stats: health.of };
  return upstreamStates([...live.current().upstreams, embedded], catalog, monitor).filter(
    // The configuration may serve nothing embedded, and does not name it.
    ({ name, models }) => name !== embeddedUpstream || models.length > 0,
  );
}

/** knownModelsOf makes models of the catalogue when it is asked for at first, and anew when the catalogue or its rates have changed. */
function knownModelsOf(
  { catalog, targets: { restMs } }: Shared,
  settings: () => Pick<Config, "catalogueInDollars" | "cataloguePrices">,
): () => KnownModels {
  let known: (Pick<KnownModels, "inDollars" | "inUnits"> & { readonly of: ReturnType<typeof settings> }) | undefined;
  return () => {
    const of = settings();
    const { catalogueInDollars: models, cataloguePrices: prices } = of;
    if (known?.of !== of) {
      const inDollars = createCatalog(models).list();
      known = { of, inDollars, inUnits: createCatalog(models.map((model) => inUnits(model, prices))).list() };
    }
    const { inDollars, inUnits: converted } = known;
    return {
      served: catalog.list(),
      inDollars,
      inUnits: converted,
      dollar: prices.dollar,
      markup: prices.markup,
      restMs,
    };
  };
}
