/** Puts the doors before the way of calls: REST, RPC, probes, the dashboard. */
import { join } from "node:path";
import { InferenceService } from "../../gen/modelgateway/v1/inference_pb.ts";
import { newId } from "../ids.ts";
import { createGuesses } from "../limits/guesses.ts";
import { createMemoryLimiter } from "../limits/memory.ts";
import { createAdmit } from "../pipeline/admit.ts";
import { audit } from "../pipeline/audit.ts";
import { createAuthenticate } from "../pipeline/authenticate.ts";
import { createAuthenticateSession } from "../pipeline/authenticate-session.ts";
import { withFreeStorage } from "../pipeline/free-storage.ts";
import { createFreeUnpriced } from "../pipeline/free-unpriced.ts";
import { createGuessed, reportTo, withGuesses } from "../pipeline/guesses.ts";
import { createKnownKeys } from "../pipeline/known-keys.ts";
import { type Observer, observe } from "../pipeline/observe.ts";
import { createHandle } from "../pipeline/serve.ts";
import type { NewAct } from "../storage/acts.ts";
import type { SessionStore } from "../storage/sessions.ts";
import { createAddresses } from "../transport/addresses.ts";
import { createAssets } from "../transport/assets.ts";
import { createCors } from "../transport/cors.ts";
import { createDispatch, type Dispatch } from "../transport/dispatch.ts";
import { healthService, type Readiness } from "../transport/health.ts";
import { createInflate } from "../transport/inflate.ts";
import { reflectionServices } from "../transport/reflection.ts";
import { createResponsesSockets } from "../transport/responses-sockets.ts";
import { createRestDoor } from "../transport/rest.ts";
import { compileRoutes } from "../transport/routes.ts";
import { createRpcDoor } from "../transport/rpc.ts";
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
  const { ledger, limit, bodies } = shared;
  const { tiers, operatorKey } = config;
  const onError = (err: unknown) =>
    log.error({ err }, "the audit log, or when a session was used, could not be written");
  /** Writes once no other process holds the database. No caller waits for it. */
  const later = (write: () => void) => void storage.whenFree(write).catch(onError);
  const acts = { insert: (act: NewAct) => later(() => storage.acts.insert(act)) };
  const guessed = createGuessed({
    guesses: createGuesses({ limiter: createMemoryLimiter(clock, mostGuessing), ...config.failedCredentials }),
    onFailed: (failed) => {
      for (const observer of observers) observer.failedCredential?.(failed);
    },
    onBeyond: reportTo(acts, { newId, clock, onError }),
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
  const audited = { storage: { acts, accounts: storage.accounts, users: storage.users } };
  const handle = withGuesses(
    audit(withFreeStorage(createHandle(services), methods, storage.free), methods, {
      ...audited,
      newId,
      clock,
      onError,
    }),
    methods,
    guessed,
  );
  const admit = createAdmit({ authenticate, limit: limit.limit, guessed });
  const way = observe({ admit, handle }, { observers, clock });
  const names = descriptors.map(({ typeName }) => typeName);
  const health = healthService(readiness, names);
  const body = { maxBytes: config.maxBodyBytes, timeoutMs: config.bodyTimeoutMs };
  const addresses = createAddresses(config);
  const { peerOf } = addresses;
  // One for both doors: so they decompress no more at a time together than one alone would.
  const inflate = createInflate();
  const newRequestId = () => newId("req", clock());
  const sockets = {
    ...{ way, body, bodies, memories: shared.memories, peerOf, newRequestId },
    method: InferenceService.method.streamResponse,
    idleMs: config.responsesSocket.idleMs,
    pingMs: config.keepAliveMs,
    isDraining: readiness.isDraining,
  };
  return createDispatch({
    upgrades: config.responsesSocket.enabled ? createResponsesSockets(sockets) : undefined,
    routes: compileRoutes(descriptors),
    rest: createRestDoor({ way, body, bodies, inflate, keepAliveMs: config.keepAliveMs, peerOf }),
    rpc: createRpcDoor({
      way,
      services: descriptors,
      open: [health, ...reflectionServices([...descriptors, health.service])],
      maxBytes: config.maxBodyBytes,
      bodyTimeoutMs: config.bodyTimeoutMs,
      bodies,
      inflate,
      peerOf,
      draining: readiness.draining,
    }),
    readiness,
    addresses,
    assets: createAssets(join(import.meta.dirname, "../../dashboard/dist")),
    cors: createCors(config.corsOrigins),
    newRequestId,
    log,
  });
}
