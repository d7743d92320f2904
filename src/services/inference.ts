/** The model endpoints: each names its operation and leaves the rest to the pipeline. */
import type { InferenceService } from "../../gen/modelgateway/v1/inference_pb.ts";
import type { ServiceImplementation } from "../call.ts";
import type { Complete } from "../pipeline/complete.ts";

export function inferenceService(complete: Complete): ServiceImplementation<typeof InferenceService> {
  return {
    createChatCompletion: (call) => complete({ operation: "chat", form: "whole", kind: "chat" }, call),
    streamChatCompletion: (call) => complete({ operation: "chat", form: "stream", kind: "chat" }, call),
  };
}
