/** SessionService and its messages: signing in to the dashboard. */
export * from "../../gen/modelgateway/v1/sessions_pb.ts";
