/**
 * Calls OperatorService for the command line: through the same checks as calls over the network, but on the database
 * itself. So the same limits apply, and an `Idempotency-Key` is valid for both.
 */
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import { OperatorService } from "../../gen/modelgateway/v1/operator_pb.ts";
import { anyRoom, type Call, type Handler, here, operatorCaller } from "../call/call.ts";
import { newCallRecord } from "../call/call-record.ts";
import type { Config } from "../config/config.ts";
import type { StoredConfiguration } from "../config/stored/stored-configuration.ts";
import { audit } from "../pipeline/check/audit.ts";
import { serve } from "../pipeline/handle.ts";
import { newId } from "../runtime/ids.ts";
import { diskMessage } from "../runtime/write-trouble.ts";
import type { TestUpstream } from "../services/configuration/test-upstream.ts";
import { operatorService } from "../services/operator/operator.ts";
import type { NewAuditEvent } from "../storage/people/audit-events.ts";
import type { Storage } from "../storage/storage.ts";
import { quickCheck } from "../wire/check/index.ts";
import { Wire } from "../wire/wire.ts";
import { clockOf, type Needs, withStorage } from "./command.ts";
import { report } from "./data/report.ts";
import { storedConfiguration } from "./stored-configuration.ts";

/** Idempotency is the `Idempotency-Key` of a request; undefined: it has none. `onReplayed` is called for a replay. */
export interface Idempotency {
  readonly key: string | undefined;
  readonly onReplayed?: () => void;
}

/** CallOperator calls an RPC of OperatorService. Throws a Refusal. */
export type CallOperator = <I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
  once?: Idempotency,
) => Promise<MessageShape<O>>;

/** withOperator runs `work` on the configured storage and closes it. */
export function withOperator(
  configFile: string | undefined,
  work: (ask: CallOperator, config: Config) => Promise<void>,
  needs?: Needs,
): Promise<void> {
  return withStorage(configFile, (storage, config) => work(operatorClient(storage, config, configFile), config), needs);
}

/** withOperatorAndStorage does the same for work that looks into the storage, too. */
export function withOperatorAndStorage(
  configFile: string | undefined,
  work: (ask: CallOperator, storage: Storage, config: Config) => Promise<void>,
  needs?: Needs,
): Promise<void> {
  const run = (storage: Storage, config: Config) => work(operatorClient(storage, config, configFile), storage, config);
  return withStorage(configFile, run, needs);
}

/** OperatorExtras are what only some commands need. */
interface OperatorExtras {
  /** stored reads the configuration; default: that whose secrets need not be set. */
  readonly stored?: StoredConfiguration;
  /** testUpstream asks upstreams; default: they are not asked. */
  readonly testUpstream?: TestUpstream;
}

/**
 * operatorClient returns a function that calls OperatorService. Calls are recorded in the audit log, like those over
 * the network.
 */
export function operatorClient(
  storage: Storage,
  config: Config,
  configFile?: string,
  { stored = storedConfiguration(storage, config, configFile), testUpstream }: OperatorExtras = {},
): CallOperator {
  const clock = clockOf(storage);
  // This process calls no upstreams.
  const settings = () => config;
  const upstreams = () => [];
  const services = [OperatorService];
  const implementation = operatorService({ storage, settings, clock, services, upstreams, stored, testUpstream });
  const options = { storage, newId, clock, onError: reportUnaudited };
  const { handlers } = serve(OperatorService, implementation);
  const handle = async (call: Call) => {
    await validate(call.request);
    return (handlers.get(call.method) as Handler)(call);
  };
  return async <I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    init: MessageInitShape<I>,
    once?: Idempotency,
  ) => {
    const request = Wire.ofJson(method.input, Wire.ofMessage(method.input, create(method.input, init)).json());
    const audited = audit(handle, [method], options);
    const answer = await audited({
      id: newId("req"),
      method,
      header: (name) => (name === "idempotency-key" ? once?.key : undefined),
      caller: operatorCaller,
      record: newCallRecord(),
      peer: here,
      request: request as unknown as Wire,
      body: anyRoom,
      signal: new AbortController().signal,
    });
    if (answer.kind !== "whole") throw new Error(`${method.name} was answered with a stream`);
    if (answer.headers?.["x-gateway-replayed"]) once?.onReplayed?.();
    return answer.body.message() as MessageShape<O>;
  };
}

/**
 * askTogether calls several RPCs that work on the database alone, in one transaction with their audit events: all are done, or none is.
 * `work` may run twice. What was refused is in the audit log all the same.
 */
export async function askTogether<T>(
  storage: Storage,
  config: Config,
  work: (ask: CallOperator) => Promise<T>,
): Promise<T> {
  let events: NewAuditEvent[] = [];
  try {
    return await storage.transact(async (stores) => {
      events = [];
      const auditEvents = { ...stores.auditEvents, insert: async (event: NewAuditEvent) => void events.push(event) };
      const within: Storage = { ...storage, ...stores, auditEvents, transact: (part) => part(stores) };
      const done = await work(operatorClient(within, config));
      for (const event of events) await stores.auditEvents.insert(event);
      return done;
    });
  } catch (error) {
    const refused = events.filter((event) => event.refused !== "");
    await Promise.all(refused.map(storage.auditEvents.insert)).catch(reportUnaudited);
    throw error;
  }
}

function reportUnaudited(error: unknown): void {
  const why = diskMessage(error) ?? (error instanceof Error ? error.message : String(error));
  report(new Error(`the audit log could not be written: ${why}`));
}

/** validate loads the validator only for what the quick check is not sure of: to load it and to compile its rules takes 60 ms. */
async function validate(request: Wire): Promise<void> {
  if (quickCheck.isSure(request.desc, request.json())) return;
  const { createValidate } = await import("../pipeline/check/validate.ts");
  createValidate()(request);
}
