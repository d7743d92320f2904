/** useChat holds a conversation with a model: sends, streams the answer, stops, retries. */
import { createClient } from "@connectrpc/connect";
import { useTransport } from "@connectrpc/connect-query";
import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { InferenceService } from "../../../../gen/modelgateway/v1/inference_pb.ts";
import { keyHeader } from "../../transport.ts";
import {
  type Answer,
  type Attachment,
  brokenOff,
  type Call,
  type ChatSettings,
  extended,
  newAnswer,
  requestOf,
  type ToolResult,
  type Turn,
} from "./conversation.ts";

export interface ChatOptions {
  readonly keyId: string;
  readonly model: string;
  readonly settings: ChatSettings;
}

export function useChat({ keyId, model, settings }: ChatOptions) {
  const transport = useTransport();
  const [turns, setTurns] = useState<readonly Turn[]>([]);
  const counted = useRef(0);
  const running = useRef<AbortController>(undefined);
  const nextId = () => counted.current++;

  const ask = useMutation({
    async mutationFn(before: readonly Turn[]) {
      const stop = new AbortController();
      running.current = stop;
      let answer = newAnswer(nextId());
      const show = (next: Answer) => {
        answer = next;
        // Chunks of a conversation that was cleared are ignored.
        if (running.current === stop) setTurns([...before, answer]);
      };
      show(answer);
      const begun = performance.now();
      const client = createClient(InferenceService, transport);
      try {
        const chunks = client.streamChatCompletion(requestOf(model, before, settings), {
          signal: stop.signal,
          headers: { [keyHeader]: keyId },
          onHeader: (headers) => show({ ...answer, requestId: headers.get("x-request-id") ?? "" }),
          onTrailer: (trailers) => show({ ...answer, ...costIn(trailers) }),
        });
        for await (const chunk of chunks) {
          const next = extended(answer, chunk);
          const isFirst = answer.firstTokenMs === undefined && hasBegun(next);
          show(isFirst ? { ...next, firstTokenMs: Math.round(performance.now() - begun) } : next);
        }
        show({ ...answer, state: "done" });
      } catch (error) {
        if (stop.signal.aborted) return show(brokenOff(answer, "stopped"));
        show(brokenOff(answer, "failed", error));
        throw error;
      }
    },
  });

  useEffect(() => () => running.current?.abort(), []);

  return {
    turns,
    isComing: turns.some((turn) => turn.by === "model" && turn.state === "coming"),
    send: (text: string, files: readonly Attachment[]) =>
      ask.mutate([...turns, { by: "person", id: nextId(), text, files }]),
    answerCalls: (calls: readonly Call[], texts: readonly string[]) =>
      ask.mutate([...turns, ...calls.map((call, at) => resultOf(nextId(), call, texts[at]))]),
    /** retry asks for the last answer again. */
    retry: () => ask.mutate(turns.slice(0, -1)),
    stop: () => running.current?.abort(),
    clear() {
      running.current?.abort();
      running.current = undefined;
      setTurns([]);
    },
  };
}

function resultOf(id: number, call: Call, text = ""): ToolResult {
  return { by: "tool", id, call, text };
}

function hasBegun({ text, reasoning, calls }: Answer): boolean {
  return text !== "" || reasoning !== "" || calls.length > 0;
}

function costIn(headers: Headers): Pick<Answer, "cost"> {
  const cost = headers.get("x-gateway-cost");
  return cost === null ? {} : { cost };
}

export type ChatState = ReturnType<typeof useChat>;
