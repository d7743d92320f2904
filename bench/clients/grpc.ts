/** gRPC clients: a fixed number of concurrent calls over one connection, repeated for a while. */
import { create } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { CreateChatCompletionRequestSchema, Role } from "../../gen/modelgateway/v1/chat_pb.ts";
import { InferenceService } from "../../gen/modelgateway/v1/inference_pb.ts";
import { chunksPerStream } from "../payloads.ts";

export interface GrpcInit {
  readonly port: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly model: string;
  readonly atOnce: number;
}

export interface GrpcLoad {
  /** run makes calls for some seconds and returns the number of answered calls. */
  run(seconds: number): Promise<number>;
}

export function grpcLoad({ port, headers, model, atOnce }: GrpcInit, streamed: boolean): GrpcLoad {
  const client = createClient(InferenceService, createGrpcTransport({ baseUrl: `http://127.0.0.1:${port}` }));
  const text = "The quick brown fox jumps over the lazy dog. ".repeat(20);
  const request = create(CreateChatCompletionRequestSchema, {
    model,
    maxTokens: 200,
    messages: [{ role: Role.USER, content: { case: "text", value: text } }],
  });
  const unary = async () => {
    const { choices } = await client.createChatCompletion(request, { headers });
    if ((choices[0]?.message?.content?.length ?? 0) < 500) throw new Error(`port ${port} answered something else`);
  };
  const stream = async () => {
    let chunks = 0;
    for await (const _ of client.streamChatCompletion(request, { headers })) chunks++;
    if (chunks < chunksPerStream) throw new Error(`port ${port} sent ${chunks} chunks`);
  };
  const call = streamed ? stream : unary;
  return {
    async run(seconds) {
      const end = performance.now() + seconds * 1000;
      let answered = 0;
      const again = async () => {
        while (performance.now() < end) {
          await call();
          answered++;
        }
      };
      await Promise.all(Array.from({ length: atOnce }, again));
      return answered;
    },
  };
}
