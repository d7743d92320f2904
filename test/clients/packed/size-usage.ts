/** The smallest program with UsageService, whose size is measured. */
import { createClient, createTransport } from "@model-gateway/client";
import { UsageService } from "@model-gateway/client/usage";

const client = createClient(UsageService, createTransport({ baseUrl: "https://gateway.example", apiKey: () => "key" }));
console.log(await client.listUsage({}));
