/** Puts the doors before the way of calls: REST, RPC, probes, the dashboard. */
import { join } from "node:path";
import { InferenceService } from "../../gen/modelgateway/v1/inference_pb.ts";
import { createInflate } from "../doors/body/inflate.ts";
import { createDispatch, type Dispatch } from "../doors/dispatch.ts";
import { createCors } from "../doors/rest/cors.ts";
import { createRestDoor } from "../doors/rest/rest.ts";
import { compileRoutes } from "../doors/rest/routes.ts";
import { healthService, type Readiness } from "../doors/rpc/health.ts";
import { reflectionServices } from "../doors/rpc/reflection.ts";
import { createRpcDoor } from "../doors/rpc/rpc.ts";
import { createAddresses } from "../doors/site/addresses.ts";
import { createAssets } from "../doors/site/assets.ts";
import { createResponsesSockets } from "../doors/socket/responses-sockets.ts";
import { createGuesses } from "../limits/guesses.ts";
import { createMemoryLimiter } from "../limits/memory.ts";
import { createAdmit } from "../pipeline/admit/admit.ts";
import { createAuthenticate } from "../pipeline/admit/authenticate.ts";
import { createAuthenticateSession } from "../pipeline/admit/authenticate-session.ts";
import { withFreeStorage } from "../pipeline/admit/await-writable.ts";
import { createFreeUnpriced } from "../pipeline/admit/free-unpriced.ts";
import { createGuessed, reportTo, withGuesses } from "../pipeline/admit/guesses.ts";
import { createKnownKeys } from "../pipeline/admit/known-keys.ts";
import { audit } from "../pipeline/check/audit.ts";
import { createHandle } from "../pipeline/handle.ts";
import { type Observer, observe } from "../pipeline/observe.ts";
import { newId } from "../runtime/ids.ts";
import type { NewAuditEvent } from "../storage/people/audit-events.ts";
import type { SessionStore } from "../storage/people/sessions.ts";
import type { Parts, Shared } from "./parts.ts";
import { createServices } from "./services.ts";

/** Of how many addresses, and neighbourhoods, failed credentials are counted. */
const mostGuessing = 100_000;

export function createDoors(
  parts: Parts,
  shared: Shared,
  observers: readonly Observer[],
  readiness: Readiness,
): Dispatch {
  const { config, storage, log, clock } = parts;
  const { accelerators, ledger, limit, bodies } = shared;
  const { tiers, operatorKey } = config;
  const onError = (err: unknown) =>
    log.error({ err }, "the audit log, or when a session was used, could not be written");
  /** Writes once no other process holds the database. No caller waits for it. */
  const later = (write: () => void) => void storage.whenFree(write).catch(onError);
  const auditEvents = { insert: (act: NewAuditEvent) => later(() => storage.auditEvents.insert(act)) };
  const guessed = createGuessed({
    guesses: createGuesses({ limiter: createMemoryLimiter(clock, mostGuessing), ...config.failedCredentials }),
    onFailed: (failed) => {
      for (const observer of observers) observer.failedCredential?.(failed);
    },
    onBeyond: reportTo(auditEvents, { newId, clock, onError }),
  });
  const services = createServices(parts, shared);
  const descriptors = services.map(({ service }) => service);
  const { keys } = storage;
  const touch: SessionStore["touch"] = (id, now) => later(() => storage.sessions.touch(id, now));
  const sessions = { ...storage.sessions, touch };
  const authenticateSession = createAuthenticateSession({ sessions, clock });
  const { accounts, version } = storage;
  const isFreeUnpriced = createFreeUnpriced({ accounts, version, isFreeForFirst: config.unpriced.isFreeForFirst });
  const knownKeys = createKnownKeys({ keys, tiers, ledger, isFreeUnpriced, version });
  const authenticate = createAuthenticate({
    ...{ keys, knownKeys, authenticateSession, tiers, isFreeUnpriced, operatorKey, clock },
    onUsed: ledger.touch,
  });
  const methods = descriptors.flatMap((service) => service.methods);
  const audited = { storage: { auditEvents, accounts: storage.accounts, users: storage.users } };
  const handle = withGuesses(
    audit(withFreeStorage(createHandle(services, undefined, accelerators.quickCheck), methods, storage.free), methods, {
      ...audited,
      newId,
      clock,
      onError,
    }),
    methods,
    guessed,
  );
  const admit = createAdmit({ authenticate, limit: limit.limit, guessed });
  const gateway = observe({ admit, handle }, { observers, clock });
  const names = descriptors.map(({ typeName }) => typeName);
  const health = healthService(readiness, names);
  const body = { maxBytes: config.maxBodyBytes, timeoutMs: config.bodyTimeoutMs };
  const addresses = createAddresses(config);
  const { peerOf } = addresses;
  // One for both doors: so they decompress no more at a time together than one alone would.
  const inflate = createInflate();
  const newRequestId = () => newId("req", clock());
  const sockets = {
    ...{ gateway, body, bodies, memories: shared.memories, peerOf, newRequestId },
    method: InferenceService.method.streamResponse,
    idleMs: config.responsesSocket.idleMs,
    pingMs: config.keepAliveMs,
    isDraining: readiness.isDraining,
  };
  return createDispatch({
    upgrades: config.responsesSocket.enabled ? createResponsesSockets(sockets) : undefined,
    routes: compileRoutes(descriptors),
    rest: createRestDoor({ gateway, body, bodies, inflate, keepAliveMs: config.keepAliveMs, peerOf }),
    rpc: createRpcDoor({
      gateway,
      services: descriptors,
      open: [health, ...reflectionServices([...descriptors, health.service])],
      maxBytes: config.maxBodyBytes,
      bodyTimeoutMs: config.bodyTimeoutMs,
      bodies,
      inflate,
      peerOf,
      draining: readiness.draining,
      createGrpcDoor: accelerators.createGrpcDoor,
    }),
    readiness,
    addresses,
    assets: createAssets(join(import.meta.dirname, "../../dashboard/dist")),
    cors: createCors(config.corsOrigins),
    newRequestId,
    log,
  });
}
