/** InferenceService and its messages: chat, messages, responses, completions, embeddings, speech, models, explanations. */
export * from "../../gen/modelgateway/v1/chat_pb.ts";
export * from "../../gen/modelgateway/v1/completions_pb.ts";
export * from "../../gen/modelgateway/v1/embeddings_pb.ts";
export * from "../../gen/modelgateway/v1/explain_pb.ts";
export * from "../../gen/modelgateway/v1/inference_pb.ts";
export * from "../../gen/modelgateway/v1/messages_pb.ts";
export * from "../../gen/modelgateway/v1/models_pb.ts";
export * from "../../gen/modelgateway/v1/responses_pb.ts";
export * from "../../gen/modelgateway/v1/speech_pb.ts";
