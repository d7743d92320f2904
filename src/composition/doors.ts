/** Puts the doors before the way of calls: REST, RPC, probes, the dashboard, the documentation. */
import { setTimeout as delay } from "node:timers/promises";
import { InferenceService } from "../../gen/modelgateway/v1/inference_pb.ts";
import type { Gateway } from "../call/call.ts";
import type { ProcessConfig } from "../config/shape.ts";
import { createInflate } from "../doors/body/inflate.ts";
import { createDispatch, type Dispatch } from "../doors/dispatch.ts";
import { createCors } from "../doors/rest/cors.ts";
import { createRestDoor } from "../doors/rest/rest.ts";
import { compileRoutes } from "../doors/rest/routes.ts";
import { healthService, type Readiness } from "../doors/rpc/health.ts";
import { reflectionServices } from "../doors/rpc/reflection.ts";
import { createRpcDoor } from "../doors/rpc/rpc.ts";
import { createAddresses } from "../doors/site/addresses.ts";
import type { Site } from "../doors/site/assets.ts";
import { contractFiles, createContract } from "../doors/site/contract.ts";
import { createDashboard } from "../doors/site/dashboard.ts";
import { createDocs } from "../doors/site/docs.ts";
import {
  createResponsesSockets,
  type ResponsesSocketsOptions,
  type Upgrades,
} from "../doors/socket/responses-sockets.ts";
import { createGuesses } from "../limits/guesses.ts";
import { type PackageFile, packageBytes, packageFilesBelow } from "../package/package-files.ts";
import { createAdmit } from "../pipeline/admit/admit.ts";
import { createAuthenticate } from "../pipeline/admit/authenticate.ts";
import { createAuthenticateSession } from "../pipeline/admit/authenticate-session.ts";
import { createFreeUnpriced } from "../pipeline/admit/free-unpriced.ts";
import { createGuessed, reportTo, withGuesses } from "../pipeline/admit/guesses.ts";
import { createKnownKeys } from "../pipeline/admit/known-keys.ts";
import { audit } from "../pipeline/check/audit.ts";
import { withMeant } from "../pipeline/check/foreign-bodies.ts";
import { compileRules, createValidate } from "../pipeline/check/validate.ts";
import { withWholeTexts } from "../pipeline/check/whole-texts.ts";
import { createHandle, type ServedService } from "../pipeline/handle.ts";
import { type Observer, observe } from "../pipeline/observe.ts";
import { runInSlices, runUntil } from "../runtime/cooperative.ts";
import { newId } from "../runtime/ids.ts";
import type { Parts, Shared } from "./parts.ts";
import { createServices } from "./services.ts";
import { logFailures } from "./trouble-log.ts";

/** settleMs is how long rules wait after the start, in milliseconds: calls that came meanwhile are answered first. */
const settleMs = 200;

export interface Doors extends Dispatch {
  /** Compiles the rules of all requests, while calls are taken, until the gateway drains. Rejects where a rule is broken. */
  warm(): Promise<void>;
}

export function createDoors(parts: Parts, shared: Shared, observers: readonly Observer[], readiness: Readiness): Doors {
  const { config, live, log, clock } = parts;
  const { accelerators, bodies } = shared;
  const services = createServices(parts, shared);
  const gateway = createGateway(parts, shared, observers, services);
  const descriptors = services.map(({ service }) => service);
  const health = healthService(
    readiness,
    descriptors.map(({ typeName }) => typeName),
  );
  const body = { maxBytes: config.maxBodyBytes, timeoutMs: config.bodyTimeoutMs };
  const addresses = createAddresses({ settings: live.current, trustedProxies: config.trustedProxies });
  const { peerOf } = addresses;
  // Shared by both doors, so that its bound holds for both together.
  const inflate = createInflate();
  const newRequestId = () => newId("req", clock());
  const sockets = { gateway, body, peerOf, newRequestId };
  const sites = createSites(config);
  const dispatch = createDispatch({
    upgrades: createUpgrades(parts, shared, readiness, sockets),
    routes: compileRoutes(descriptors),
    rest: createRestDoor({ gateway, body, bodies, inflate, keepAliveMs: config.keepAliveMs, peerOf }),
    rpc: createRpcDoor({
      gateway,
      bodies,
      inflate,
      peerOf,
      services: descriptors,
      open: [health, ...reflectionServices([...descriptors, health.service])],
      maxBytes: config.maxBodyBytes,
      bodyTimeoutMs: config.bodyTimeoutMs,
      draining: readiness.draining,
      createGrpcDoor: accelerators.createGrpcDoor,
    }),
    readiness,
    addresses,
    newRequestId,
    log,
    sites,
    cors: createCors(config.corsOrigins),
    bodyTimeoutMs: config.bodyTimeoutMs,
  });
  const rpcs = descriptors.flatMap(({ methods }) => methods);
  return {
    ...dispatch,
    // A single rule may take a tenth of a second to compile, and would hold up the first calls.
    async warm() {
      await delay(settleMs, undefined, { ref: false });
      if (readiness.isDraining()) return;
      for (const site of sites) site.load?.();
      await runInSlices(runUntil(compileRules(rpcs, accelerators.quickCheck), readiness.isDraining));
    },
  };
}

/** createUpgrades builds what serves responses over a WebSocket; undefined where the configuration switches that off. */
function createUpgrades(
  { config }: Parts,
  { bodies, memories }: Shared,
  { status }: Readiness,
  sockets: Pick<ResponsesSocketsOptions, "gateway" | "body" | "peerOf" | "newRequestId">,
): Upgrades | undefined {
  const { enabled, idleMs } = config.responsesSocket;
  if (!enabled) return undefined;
  const method = InferenceService.method.streamResponse;
  return createResponsesSockets({
    ...sockets,
    bodies,
    memories,
    method,
    idleMs,
    pingMs: config.keepAliveMs,
    // One that has a successor still takes what comes over its connections.
    isDraining: () => status().status === "draining",
  });
}

function createSites({ docs }: Pick<ProcessConfig, "docs">): Site[] {
  const always = [createDashboard(() => packageFilesBelow("dashboard/dist")), createContract(loadContract)];
  return docs ? [...always, createDocs(() => packageFilesBelow("site/dist"))] : always;
}

function loadContract(): PackageFile[] {
  return Object.entries(contractFiles).map(([path, file]) => ({ path, body: packageBytes(file) }));
}

/** createGateway builds what every door asks: admission by the headers, and the handling of an admitted call. */
function createGateway(
  parts: Parts,
  shared: Shared,
  observers: readonly Observer[],
  services: readonly ServedService[],
): Gateway {
  const { live, storage, log, clock } = parts;
  const { accelerators, limit } = shared;
  const onError = logFailures(log, "the audit log, or when a session was used, could not be written");
  const guessed = createGuessed({
    guesses: createGuesses({ limiter: shared.limits.guesses, settings: live.current }),
    onFailed: (failed) => {
      for (const observer of observers) observer.failedCredential?.(failed);
    },
    onBeyond: reportTo(storage.auditEvents, { newId, clock, onError }),
  });
  const methods = services.flatMap(({ service }) => service.methods);
  const validated = createHandle(services, createValidate(accelerators.quickCheck), accelerators.quickCheck);
  const answer = withMeant(withWholeTexts(validated));
  const handle = audit(answer, methods, { storage, newId, clock, onError });
  const authenticate = createAuthentication(parts, shared, onError);
  const admit = createAdmit({ authenticate, limit: limit.limit, guessed });
  return observe({ admit, handle: withGuesses(handle, methods, guessed) }, { observers, clock });
}

function createAuthentication({ config, live, storage, clock }: Parts, { ledger }: Shared, onError: Shared["onError"]) {
  const { operatorKey } = config;
  const settings = live.current;
  const { accounts, sessions, keys, version } = storage;
  const authenticateSession = createAuthenticateSession({ sessions, clock, onError });
  const isFreeUnpriced = createFreeUnpriced({ accounts, version, settings });
  const knownKeys = createKnownKeys({ keys, settings, ledger, isFreeUnpriced, changes: storage });
  return createAuthenticate({
    keys,
    knownKeys,
    authenticateSession,
    settings,
    isFreeUnpriced,
    operatorKey,
    clock,
    onUsed: ledger.touch,
  });
}
