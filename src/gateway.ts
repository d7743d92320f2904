/**
 * The composition root: builds every part of the gateway once, and nothing anywhere else.
 */
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import type { Logger } from "pino";
import { Family } from "../gen/modelgateway/v1/access_pb.ts";
import { AccountService } from "../gen/modelgateway/v1/accounts_pb.ts";
import { InferenceService } from "../gen/modelgateway/v1/inference_pb.ts";
import { KeyService } from "../gen/modelgateway/v1/keys_pb.ts";
import { OperatorService } from "../gen/modelgateway/v1/operator_pb.ts";
import { UsageService } from "../gen/modelgateway/v1/usage_pb.ts";
import type { Handler, ServiceImplementation, Way } from "./call.ts";
import { type Catalog, createCatalog } from "./catalog.ts";
import type { Config } from "./config/config.ts";
import { httpNotUnderstood, internal, methodNotAllowed, type Refusal } from "./errors.ts";
import { newId } from "./ids.ts";
import { createLedger, type Ledger } from "./ledger/ledger.ts";
import { createMemoryLimiter } from "./limits/memory.ts";
import { createAdmit } from "./pipeline/admit.ts";
import { createAuthenticate } from "./pipeline/authenticate.ts";
import { createComplete } from "./pipeline/complete.ts";
import { withTokenCount } from "./pipeline/count-tokens.ts";
import { createLimit, type Limit } from "./pipeline/limit.ts";
import { observe } from "./pipeline/observe.ts";
import { createSettle, type SettleOptions } from "./pipeline/settle.ts";
import { createValidate } from "./pipeline/validate.ts";
import { createProviders, embeddedModels } from "./providers/index.ts";
import type { Provider } from "./providers/provider.ts";
import { accountService } from "./services/accounts.ts";
import { inferenceService } from "./services/inference.ts";
import { keyService } from "./services/keys.ts";
import { operatorService } from "./services/operator.ts";
import { usageService } from "./services/usage.ts";
import type { Storage } from "./storage/storage.ts";
import { createAddresses } from "./transport/addresses.ts";
import { createCors } from "./transport/cors.ts";
import { createDispatch } from "./transport/dispatch.ts";
import { createReadiness, healthService, type Readiness } from "./transport/health.ts";
import { type Listener, type ListenOptions, listen } from "./transport/listen.ts";
import { problem } from "./transport/problems.ts";
import { reflectionServices } from "./transport/reflection.ts";
import { createRestDoor } from "./transport/rest.ts";
import { compileRoutes } from "./transport/routes.ts";
import { createRpcDoor } from "./transport/rpc.ts";
import { planOf } from "./wire/plan.ts";

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
  readonly ledger: Ledger;
  readonly limit: Limit;
  /** Told of what went wrong where no caller waits. */
  readonly onError: (error: unknown) => void;
}

function createShared({ config, storage, log, clock }: Parts): Shared {
  const onError = (error: unknown) => log.error({ err: error }, "usage could not be written");
  const providers = [...createProviders(config.upstreams, clock)];
  return {
    catalog: createCatalog(config.embeddedModels ? [...config.models, ...embeddedModels] : config.models),
    providers: new Map(providers.map(([name, provider]) => [name, withTokenCount(provider)])),
    ledger: createLedger({ store: storage.ledger, clock, onError }),
    limit: createLimit({ limiter: createMemoryLimiter(clock), clock }),
    onError,
  };
}

function createServices(parts: Parts, shared: Shared): ServedService[] {
  const { config, storage, clock, random } = parts;
  const { catalog, providers, ledger, limit, onError } = shared;
  const onUsed: SettleOptions["onUsed"] = (caller, tokens) => void limit.used(caller, tokens).catch(onError);
  const settle = createSettle({ ledger, clock, onUsed, onError });
  const complete = createComplete({ catalog, providers, ledger, settle, clock, random });
  const responses = { store: storage.responses, clock, limits: config.responses };
  const { defaultModels, tiers, maxKeysPerAccount: maxKeys } = config;
  const { accounts, entries, redeemCodes, keys, idempotency, requests } = storage;
  const unit = config.unit.code;
  return [
    serve(InferenceService, inferenceService({ catalog, complete, defaultModels, responses })),
    serve(KeyService, keyService({ keys, idempotency, catalog, clock, maxKeys, unit, standing: limit.standing })),
    serve(AccountService, accountService({ accounts, entries, redeemCodes, tiers, unit, clock })),
    serve(UsageService, usageService({ requests, clock })),
    serve(OperatorService, operatorService({ storage, tiers, clock })),
  ];
}

/** Puts the doors before the way of calls. */
function createDoors(parts: Parts, shared: Shared, readiness: Readiness): ListenOptions["handle"] {
  const { config, storage, log, clock } = parts;
  const { ledger, limit } = shared;
  const { tiers, operatorKey } = config;
  const services = createServices(parts, shared);
  const descriptors = services.map(({ service }) => service);
  const authenticate = createAuthenticate({ keys: storage.keys, tiers, operatorKey, clock, onUsed: ledger.touch });
  const way = observe(createWay(services, createAdmit({ authenticate, limit: limit.limit })), { log, clock });
  const names = descriptors.map(({ typeName }) => typeName);
  const health = healthService(readiness, names);
  const body = { maxBytes: config.maxBodyBytes, timeoutMs: config.bodyTimeoutMs };
  return createDispatch({
    routes: compileRoutes(descriptors),
    rest: createRestDoor({ way, body, keepAliveMs: config.keepAliveMs }),
    rpc: createRpcDoor({
      way,
      services: descriptors,
      open: [health, ...reflectionServices([...descriptors, health.service])],
      maxBytes: config.maxBodyBytes,
      bodyTimeoutMs: config.bodyTimeoutMs,
      draining: readiness.draining,
    }),
    readiness,
    addresses: createAddresses(config),
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

interface ServedService {
  readonly service: DescService;
  readonly handlers: ReadonlyMap<DescMethod, Handler>;
}

function serve<S extends DescService>(service: S, implementation: ServiceImplementation<S>): ServedService {
  const handlers = new Map<DescMethod, Handler>();
  for (const method of service.methods) {
    handlers.set(method, implementation[method.localName as keyof S["method"]] as unknown as Handler);
  }
  return { service, handlers };
}

/** Puts the steps of a call in their order: admit, validate, and the RPC's own service. */
function createWay(services: readonly ServedService[], admit: Way["admit"]): Omit<Way, "abandon"> {
  const handlers = new Map(services.flatMap(({ handlers }) => [...handlers]));
  const methods = [...handlers.keys()];
  // A message that the wire cannot carry stops the start, and not the first call that needs it.
  for (const { input, output } of methods) for (const desc of [input, output]) planOf(desc);
  const validate = createValidate(methods.map(({ input }) => input));
  return {
    admit,
    async handle(call) {
      validate(call.request);
      const handler = handlers.get(call.method);
      if (!handler) throw internal(new Error(`no handler for ${call.method}`));
      return handler(call);
    },
  };
}
