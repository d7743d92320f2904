/**
 * The composition root: builds every part of the gateway once, and nothing anywhere else.
 */
import { join } from "node:path";
import type { Logger } from "pino";
import { Family } from "../gen/modelgateway/v1/access_pb.ts";
import { AccountService } from "../gen/modelgateway/v1/accounts_pb.ts";
import { InferenceService } from "../gen/modelgateway/v1/inference_pb.ts";
import { KeyService } from "../gen/modelgateway/v1/keys_pb.ts";
import { OperatorService } from "../gen/modelgateway/v1/operator_pb.ts";
import { SessionService } from "../gen/modelgateway/v1/sessions_pb.ts";
import { UsageService } from "../gen/modelgateway/v1/usage_pb.ts";
import { type Catalog, createCatalog } from "./catalog.ts";
import type { Config } from "./config/config.ts";
import { embeddedUpstream } from "./config/references.ts";
import { httpNotUnderstood, methodNotAllowed, type Refusal } from "./errors.ts";
import { newId } from "./ids.ts";
import { createLedger, type Ledger } from "./ledger/ledger.ts";
import { createMemoryLimiter } from "./limits/memory.ts";
import { createAdmit } from "./pipeline/admit.ts";
import { audit } from "./pipeline/audit.ts";
import { createAuthenticate } from "./pipeline/authenticate.ts";
import { createAuthenticateSession } from "./pipeline/authenticate-session.ts";
import { createComplete } from "./pipeline/complete.ts";
import { withTokenCount } from "./pipeline/count-tokens.ts";
import { createLimit, type Limit } from "./pipeline/limit.ts";
import { observe } from "./pipeline/observe.ts";
import { createSend } from "./pipeline/send.ts";
import { createHandle, type ServedService, serve } from "./pipeline/serve.ts";
import { createSettle, type SettleOptions } from "./pipeline/settle.ts";
import { createHealth, type Health } from "./providers/health.ts";
import { createProviders, embeddedModels } from "./providers/index.ts";
import type { Provider } from "./providers/provider.ts";
import { accountService } from "./services/accounts.ts";
import { inferenceService } from "./services/inference.ts";
import { keyService } from "./services/keys.ts";
import { operatorService } from "./services/operator.ts";
import { sessionService } from "./services/sessions.ts";
import { standingsOf } from "./services/upstream-message.ts";
import { usageService } from "./services/usage.ts";
import type { Storage } from "./storage/storage.ts";
import { createTargets } from "./targets/targets.ts";
import { createAddresses } from "./transport/addresses.ts";
import { createAssets } from "./transport/assets.ts";
import { createCors } from "./transport/cors.ts";
import { createDispatch } from "./transport/dispatch.ts";
import { createReadiness, healthService, type Readiness } from "./transport/health.ts";
import { type Listener, type ListenOptions, listen } from "./transport/listen.ts";
import { problem } from "./transport/problems.ts";
import { reflectionServices } from "./transport/reflection.ts";
import { createRestDoor } from "./transport/rest.ts";
import { compileRoutes } from "./transport/routes.ts";
import { createRpcDoor } from "./transport/rpc.ts";

export interface GatewayParts {
  readonly config: Config;
  readonly storage: Storage;
  readonly log: Logger;
  /** Milliseconds since 1970. */
  readonly clock?: () => number;
  /** From 0 (inclusive) to 1 (exclusive). */
  readonly random?: () => number;
}

export interface Gateway {
  readonly host: string;
  readonly port: number;
  /**
   * Loads what the first calls of the models served would wait for, while calls are taken. Resolves when nothing is left
   * to load; never rejects.
   */
  warm(): Promise<void>;
  /** Stops accepting, finishes what runs, at most for the configured time, and lets go of everything but storage. */
  close(): Promise<void>;
}

/** Starts the gateway. Throws where the port is taken or a route is broken. */
export async function startGateway({
  config,
  storage,
  log,
  clock = Date.now,
  random = Math.random,
}: GatewayParts): Promise<Gateway> {
  const parts = { config, storage, log, clock, random };
  const shared = createShared(parts);
  const { catalog, providers, ledger, onError } = shared;
  const readiness = createReadiness();
  const handle = createDoors(parts, shared, readiness);
  const rejectionBody = (status: number) => problem(Family.OPENAI, rejectionOf(status), "").body;
  const listener: Listener = await listen({ host: config.host, port: config.port, handle, rejectionBody });
  // What processes before this one left reserved.
  void ledger.sweep().catch(onError);
  return {
    host: listener.host,
    port: listener.port,
    warm: () => warmModels(catalog, providers, log),
    async close() {
      readiness.drain();
      await listener.close(config.drainMs);
      await ledger.close();
      await Promise.all([...providers.values()].map((provider) => provider.close()));
    },
  };
}

type Parts = Required<GatewayParts>;

/** What several steps of a call share. */
interface Shared {
  readonly catalog: Catalog;
  /** By the upstream's name. */
  readonly providers: ReadonlyMap<string, Provider>;
  readonly health: Health;
  readonly ledger: Ledger;
  readonly limit: Limit;
  /** Told of what went wrong where no caller waits. */
  readonly onError: (error: unknown) => void;
}

function createShared({ config, storage, log, clock }: Parts): Shared {
  const onError = (error: unknown) => log.error({ err: error }, "usage could not be written");
  const health = createHealth(clock);
  const providers = [...createProviders(config.upstreams, clock)];
  return {
    catalog: createCatalog(config.embeddedModels ? [...config.models, ...embeddedModels] : config.models),
    // What is counted here is no attempt at an upstream.
    providers: new Map(providers.map(([name, provider]) => [name, withTokenCount(health.watch(name, provider))])),
    health,
    ledger: createLedger({ store: storage.ledger, clock, onError }),
    limit: createLimit({ limiter: createMemoryLimiter(clock), clock }),
    onError,
  };
}

function createServices(parts: Parts, shared: Shared): ServedService[] {
  const { config, storage, clock, random } = parts;
  const { catalog, providers, health, ledger, limit, onError } = shared;
  const onUsed: SettleOptions["onUsed"] = (caller, tokens) => void limit.used(caller, tokens).catch(onError);
  const settle = createSettle({ ledger, clock, onUsed, onError });
  const { retries, breaker } = config;
  const targets = createTargets({ ...breaker, retryShare: retries.share, clock });
  const send = createSend({ targets, attempts: retries.attempts, clock, random });
  const complete = createComplete({ catalog, providers, targets, send, ledger, settle, clock, random });
  const responses = { store: storage.responses, clock, limits: config.responses };
  const { defaultModels, tiers, maxKeysPerAccount: maxKeys } = config;
  const { keys, idempotency } = storage;
  const { standing } = limit;
  const unit = config.unit.code;
  const { registration, publicUrls } = config;
  const limiter = createMemoryLimiter(clock);
  const services = [InferenceService, KeyService, AccountService, UsageService, SessionService, OperatorService];
  const embedded = { name: embeddedUpstream, kind: "embedded", base_url: "" };
  const upstreams = () =>
    standingsOf([...config.upstreams, embedded], catalog, health.fared).filter(
      // The configuration may serve nothing embedded, and does not name it.
      ({ name, models }) => name !== embeddedUpstream || models.length > 0,
    );
  return [
    serve(InferenceService, inferenceService({ catalog, complete, defaultModels, responses })),
    serve(KeyService, keyService({ keys, idempotency, catalog, clock, maxKeys, unit, standing })),
    serve(AccountService, accountService({ ...storage, catalog, tiers, unit, clock, standing })),
    serve(UsageService, usageService({ ...storage, clock })),
    serve(SessionService, sessionService({ storage, limiter, registration, unit: config.unit, publicUrls, clock })),
    serve(OperatorService, operatorService({ storage, config, clock, services, upstreams })),
  ];
}

/** Puts the doors before the way of calls. */
function createDoors(parts: Parts, shared: Shared, readiness: Readiness): ListenOptions["handle"] {
  const { config, storage, log, clock } = parts;
  const { ledger, limit } = shared;
  const { tiers, operatorKey } = config;
  const services = createServices(parts, shared);
  const descriptors = services.map(({ service }) => service);
  const { keys, sessions } = storage;
  const authenticateSession = createAuthenticateSession({ sessions, clock });
  const authenticate = createAuthenticate({
    ...{ keys, authenticateSession, tiers, operatorKey, clock },
    onUsed: ledger.touch,
  });
  const onError = (err: unknown) => log.error({ err }, "the audit log could not be written");
  const methods = descriptors.flatMap((service) => service.methods);
  const handle = audit(createHandle(services), methods, { storage, newId, clock, onError });
  const way = observe({ admit: createAdmit({ authenticate, limit: limit.limit }), handle }, { log, clock });
  const names = descriptors.map(({ typeName }) => typeName);
  const health = healthService(readiness, names);
  const body = { maxBytes: config.maxBodyBytes, timeoutMs: config.bodyTimeoutMs };
  const addresses = createAddresses(config);
  const { peerOf } = addresses;
  return createDispatch({
    routes: compileRoutes(descriptors),
    rest: createRestDoor({ way, body, keepAliveMs: config.keepAliveMs, peerOf }),
    rpc: createRpcDoor({
      way,
      services: descriptors,
      open: [health, ...reflectionServices([...descriptors, health.service])],
      maxBytes: config.maxBodyBytes,
      bodyTimeoutMs: config.bodyTimeoutMs,
      peerOf,
      draining: readiness.draining,
    }),
    readiness,
    addresses,
    assets: createAssets(join(import.meta.dirname, "../dashboard/dist")),
    cors: createCors(config.corsOrigins),
    newRequestId: () => newId("req", clock()),
    log,
  });
}

/** Has every provider load what its served models need. */
async function warmModels(catalog: Catalog, providers: Shared["providers"], log: Logger): Promise<void> {
  const targets = catalog.list().flatMap((model) => model.targets);
  const modelsAt = (name: string) => targets.filter(({ upstream }) => upstream === name).map(({ model }) => model);
  await Promise.all(
    [...providers].map(async ([upstream, { warm }]) => {
      if (!warm || modelsAt(upstream).length === 0) return;
      await warm(modelsAt(upstream));
      log.debug({ upstream }, "warm");
    }),
  );
}

/** 405 is for CONNECT, which no path takes. */
function rejectionOf(status: number): Refusal {
  return status === 405 ? methodNotAllowed("CONNECT", ["GET", "POST", "DELETE"]) : httpNotUnderstood(status);
}
