/** UsageService and its messages: an account's calls, and what they used. */
export * from "../../gen/modelgateway/v1/usage_pb.ts";
