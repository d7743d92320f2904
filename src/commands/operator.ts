/**
 * The command line as the operator: it asks OperatorService, as a call over the network would be asked, but of the
 * database itself. So both keep the same bounds, and one `Idempotency-Key` holds for either.
 */
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import { OperatorService } from "../../gen/modelgateway/v1/operator_pb.ts";
import { anyRoom, here, operatorCaller } from "../call/call.ts";
import { newCallRecord } from "../call/call-record.ts";
import type { Config } from "../config/config.ts";
import { audit } from "../pipeline/check/audit.ts";
import { createHandle, serve } from "../pipeline/handle.ts";
import { newId } from "../runtime/ids.ts";
import { operatorService } from "../services/operator/operator.ts";
import type { Storage } from "../storage/storage.ts";
import { Wire } from "../wire/wire.ts";
import { type Needs, withStorage } from "./command.ts";

/** Under which key a request is repeated, and who is told that it was made before and nothing was done now. */
export interface Once {
  readonly key: string;
  readonly onReplayed: () => void;
}

/** Asks an RPC of OperatorService. Throws a Refusal. */
export type Ask = <I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
  once?: Once,
) => Promise<MessageShape<O>>;

/** Runs `work` on the storage of this configuration, and closes it. */
export function withOperator(
  configFile: string | undefined,
  work: (ask: Ask, config: Config) => Promise<void>,
  needs?: Needs,
): Promise<void> {
  return withStorage(configFile, (storage, config) => work(askerOf(storage, config), config), needs);
}

/** What is asked is in the audit log, as calls over the network are. */
export function askerOf(storage: Storage, config: Config): Ask {
  const clock = Date.now;
  // This process asks no upstream.
  const implementation = operatorService({ storage, config, clock, services: [OperatorService], upstreams: () => [] });
  const onError = (error: unknown) => console.error("the audit log could not be written:", error);
  const options = { storage, newId, clock, onError };
  const service = serve(OperatorService, implementation);
  return async <I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    init: MessageInitShape<I>,
    once?: Once,
  ) => {
    const request = Wire.ofMessage(method.input, create(method.input, init));
    // Only what is asked is compiled, which takes its time.
    const handle = audit(createHandle([service], [method]), [method], options);
    const answer = await handle({
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
    if (answer.headers?.["x-gateway-replayed"]) once?.onReplayed();
    return answer.body.message() as MessageShape<O>;
  };
}
