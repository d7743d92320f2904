/** Every RPC of the contract can be served: the wire carries its messages, and the rules of its request compile. */
import { expect, test } from "vitest";
import { AccountService } from "../../../gen/modelgateway/v1/accounts_pb.ts";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { KeyService } from "../../../gen/modelgateway/v1/keys_pb.ts";
import { OperatorService } from "../../../gen/modelgateway/v1/operator_pb.ts";
import { SessionService } from "../../../gen/modelgateway/v1/sessions_pb.ts";
import { UsageService } from "../../../gen/modelgateway/v1/usage_pb.ts";
import { compileRules } from "../../../src/pipeline/check/validate.ts";
import { quickCheck } from "../../../src/wire/check/index.ts";

const services = [InferenceService, KeyService, AccountService, UsageService, SessionService, OperatorService];

test.each(services.flatMap(({ methods }) => methods))("$parent.name/$name", (method) => {
  // Each step yields to other work: first the answer, then the request.
  expect([...compileRules([method], quickCheck)]).toHaveLength(2);
});
