/**
 * The composition root: builds every part of the gateway once, in the order in which a call meets them.
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
import { createCatalog } from "./catalog.ts";
import type { Config } from "./config/config.ts";
import { httpNotUnderstood, internal, methodNotAllowed, type Refusal } from "./errors.ts";
import { newId } from "./ids.ts";
import { createLedger } from "./ledger/ledger.ts";
import { createMemoryLimiter } from "./limits/memory.ts";
import { createAdmit } from "./pipeline/admit.ts";
import { createAuthenticate } from "./pipeline/authenticate.ts";
import { createComplete } from "./pipeline/complete.ts";
import { withTokenCount } from "./pipeline/count-tokens.ts";
import { createLimit } from "./pipeline/limit.ts";
import { observe } from "./pipeline/observe.ts";
import { createSettle } from "./pipeline/settle.ts";
import { createValidate } from "./pipeline/validate.ts";
import { createProviders, embeddedModels } from "./providers/index.ts";
import { accountService } from "./services/accounts.ts";
import { inferenceService } from "./services/inference.ts";
import { keyService } from "./services/keys.ts";
import { operatorService } from "./services/operator.ts";
import { usageService } from "./services/usage.ts";
import type { Storage } from "./storage/storage.ts";
import { createAddresses } from "./transport/addresses.ts";
import { createCors } from "./transport/cors.ts";
import { createDispatch } from "./transport/dispatch.ts";
import { createReadiness, healthService } from "./transport/health.ts";
import { type Listener, listen } from "./transport/listen.ts";
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
export async function startGateway(parts: GatewayParts): Promise<Gateway> {
  const { config, storage, log, clock = Date.now, random = Math.random } = parts;
  const catalog = createCatalog(config.embeddedModels ? [...config.models, ...embeddedModels] : config.models);
  const providers = new Map(
    [...createProviders(config.upstreams, clock)].map(([name, provider]) => [name, withTokenCount(provider)]),
  );
  const onError = (error: unknown) => log.error({ err: error }, "money could not be written");
  const ledger = createLedger({ store: storage.ledger, clock, onError });
  const { limit, used, standing } = createLimit({ limiter: createMemoryLimiter(clock), clock });
  const settle = createSettle({ ledger, clock, onError, onUsed: (caller, tokens) => void used(caller, tokens) });
  const complete = createComplete({ catalog, providers, ledger, settle, clock, random });
  const responses = { store: storage.responses, clock, limits: config.responses };
  const { tiers, operatorKey, maxKeysPerAccount: maxKeys } = config;
  const { keys, idempotency, requests } = storage;
  const unit = config.unit.code;
  const services = [
    serve(InferenceService, inferenceService({ catalog, complete, defaultModels: config.defaultModels, responses })),
    serve(KeyService, keyService({ keys, idempotency, catalog, clock, maxKeys, unit, standing })),
    serve(AccountService, accountService({ ...storage, tiers, unit, clock })),
    serve(UsageService, usageService({ requests, clock })),
    serve(OperatorService, operatorService({ storage, tiers, clock })),
  ];
  const descriptors = services.map(({ service }) => service);

  const authenticate = createAuthenticate({ keys, tiers, operatorKey, clock, onUsed: ledger.touch });
  const way = observe(createWay(services, createAdmit({ authenticate, limit })), { log, clock });
  const readiness = createReadiness();
  const body = { maxBytes: config.maxBodyBytes, timeoutMs: config.bodyTimeoutMs };
  const health = healthService(
    readiness,
    descriptors.map(({ typeName }) => typeName),
  );
  const handle = createDispatch({
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
  const listener: Listener = await listen({
    host: config.host,
    port: config.port,
    handle,
    rejectionBody: (status) => problem(Family.OPENAI, rejectionOf(status), "").body,
  });
  // What processes before this one left reserved.
  void ledger.sweep().catch(onError);
  return {
    host: listener.host,
    port: listener.port,
    async warm() {
      const targets = catalog.list().flatMap((model) => model.targets);
      const modelsAt = (name: string) => targets.filter(({ upstream }) => upstream === name).map(({ model }) => model);
      await Promise.all(
        [...providers].map(async ([upstream, { warm }]) => {
          if (!warm || modelsAt(upstream).length === 0) return;
          await warm(modelsAt(upstream));
          log.debug({ upstream }, "warm");
        }),
      );
    },
    async close() {
      readiness.drain();
      await listener.close(config.drainMs);
      await ledger.close();
      await Promise.all([...providers.values()].map((provider) => provider.close()));
    },
  };
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
