/**
 * The cost of gRPC in Node without anything behind it: connect-node's server, which answers chat calls with a
 * constant. `node connect-echo.ts PORT`.
 */
import { createServer } from "node:http2";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { ChatCompletionChunkSchema, ChatCompletionSchema } from "../../gen/modelgateway/v1/chat_pb.ts";
import { InferenceService } from "../../gen/modelgateway/v1/inference_pb.ts";
import { Wire } from "../../src/wire/wire.ts";
import { chatAnswer, chunkFrame, chunksPerStream } from "../payloads.ts";

const answer = Wire.ofBytes(ChatCompletionSchema, Buffer.from(chatAnswer), true).message();
const chunkText = chunkFrame("and a few words more, as many as a moment has", false).slice("data: ".length);
const chunk = Wire.ofBytes(ChatCompletionChunkSchema, Buffer.from(chunkText), true).message();

const handler = connectNodeAdapter({
  routes(router) {
    router.service(InferenceService, {
      createChatCompletion: () => answer,
      async *streamChatCompletion() {
        for (let i = 0; i < chunksPerStream; i++) yield chunk;
      },
    });
  },
});

createServer(handler).listen(Number(process.argv[2]), "127.0.0.1");
