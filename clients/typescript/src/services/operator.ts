/** OperatorService and its messages: accounts, money, users and upstreams, with the operator key. */
export * from "../../gen/modelgateway/v1/configuration_pb.ts";
export * from "../../gen/modelgateway/v1/operator_pb.ts";
