/** useSpeech synthesises speech: the audio as it arrives, its cost and duration, and a way to stop. */
import { createClient } from "@connectrpc/connect";
import { useTransport } from "@connectrpc/connect-query";
import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { InferenceService } from "../../../../gen/modelgateway/v1/inference_pb.ts";
import { keyHeader } from "../../transport.ts";
import type { Measured } from "./measures.tsx";
import { type Format, formats, type Sound, soundOf } from "./sound.ts";

export interface SpeechRequest {
  readonly keyId: string;
  readonly model: string;
  readonly input: string;
  readonly voice: string;
  readonly format: Format;
  readonly speed: number | undefined;
}

export function useSpeech() {
  const transport = useTransport();
  const running = useRef<AbortController>(undefined);
  const [bytes, setBytes] = useState(0);
  const speak = useMutation({
    async mutationFn({ keyId, model, input, voice, format, speed }: SpeechRequest): Promise<Spoken | undefined> {
      const stop = new AbortController();
      running.current = stop;
      setBytes(0);
      const begun = performance.now();
      const client = createClient(InferenceService, transport);
      const pieces: Uint8Array<ArrayBuffer>[] = [];
      let measured: Measured = {};
      let type = "";
      const asked = {
        model,
        input,
        responseFormat: formats[format],
        voice: { case: "voiceName" as const, value: voice },
        ...(speed === undefined ? {} : { speed }),
      };
      try {
        const chunks = client.streamSpeech(asked, {
          signal: stop.signal,
          headers: { [keyHeader]: keyId },
          onHeader: (headers) => {
            measured = { ...measured, requestId: headers.get("x-request-id") ?? "" };
          },
          onTrailer: (trailers) => {
            const cost = trailers.get("x-gateway-cost");
            if (cost !== null) measured = { ...measured, cost };
          },
        });
        for await (const { audio, contentType } of chunks) {
          type ||= contentType ?? "";
          if (!audio) continue;
          measured = { firstSoundMs: Math.round(performance.now() - begun), ...measured };
          pieces.push(audio as Uint8Array<ArrayBuffer>);
          setBytes((before) => before + audio.length);
        }
      } catch (error) {
        if (stop.signal.aborted) return undefined;
        throw error;
      }
      return { sound: soundOf(pieces, type, format), measured };
    },
  });
  useEffect(() => () => running.current?.abort(), []);
  return { speak, bytes, stop: () => running.current?.abort() };
}

export interface Spoken {
  readonly sound: Sound;
  readonly measured: Measured;
}
