/** KeyService and its messages: the API keys of an account. */
export * from "../../gen/modelgateway/v1/keys_pb.ts";
