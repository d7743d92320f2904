/** The smallest program with InferenceService, whose size is measured. */
import { createClient, createTransport } from "@model-gateway/client";
import { InferenceService } from "@model-gateway/client/inference";

const client = createClient(
  InferenceService,
  createTransport({ baseUrl: "https://gateway.example", apiKey: () => "key" }),
);
console.log(await client.listModels({}));
