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
import type { OperatorService } from "../../gen/modelgateway/v1/operator_pb.ts";
import { type Answer, type Call, operatorCaller } from "../call.ts";
import type { Config } from "../config/config.ts";
import { newId } from "../ids.ts";
import { createValidate } from "../pipeline/validate.ts";
import { operatorService } from "../services/operator.ts";
import type { Storage } from "../storage/storage.ts";
import { Wire } from "../wire/wire.ts";
import { withStorage } from "./command.ts";

/** Asks an RPC of OperatorService. Throws a Refusal. */
export type Ask = <I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
  idempotencyKey?: string,
) => Promise<MessageShape<O>>;

/** Runs `work` on the storage of this configuration, and closes it. */
export function withOperator(
  configFile: string | undefined,
  work: (ask: Ask, config: Config) => Promise<void>,
): Promise<void> {
  return withStorage(configFile, (storage, config) => work(askerOf(storage, config), config));
}

export function askerOf(storage: Storage, { tiers }: Config): Ask {
  const service = operatorService({ storage, tiers, clock: Date.now });
  return async <I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    init: MessageInitShape<I>,
    idempotencyKey?: string,
  ) => {
    const request = Wire.ofMessage(method.input, create(method.input, init));
    createValidate([method.input])(request);
    const handler = service[method.localName as keyof typeof OperatorService.method] as (call: Call) => Promise<Answer>;
    const answer = await handler({
      id: newId("req"),
      method,
      header: (name) => (name === "idempotency-key" ? idempotencyKey : undefined),
      caller: operatorCaller,
      request: request as unknown as Wire,
      signal: new AbortController().signal,
    });
    if (answer.kind !== "whole") throw new Error(`${method.name} was answered with a stream`);
    return answer.body.message() as MessageShape<O>;
  };
}
