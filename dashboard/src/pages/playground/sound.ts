/** Speech as a file, and in a form that browsers play. */
import { SpeechFormat } from "../../../../gen/modelgateway/v1/speech_pb.ts";

/** formats are the speech formats by their public names, which are also the file extensions. */
export const formats = {
  mp3: SpeechFormat.MP3,
  opus: SpeechFormat.OPUS,
  aac: SpeechFormat.AAC,
  flac: SpeechFormat.FLAC,
  wav: SpeechFormat.WAV,
  pcm: SpeechFormat.PCM,
} as const;

export type Format = keyof typeof formats;

export const formatNames = Object.keys(formats) as Format[];

export interface Sound {
  readonly file: Blob;
  /** playable is the file, or raw samples with the header that playing them requires. */
  readonly playable: Blob;
  readonly name: string;
}

export function soundOf(pieces: readonly Uint8Array<ArrayBuffer>[], type: string, format: Format): Sound {
  const file = new Blob([...pieces], { type });
  const playable = format === "pcm" ? new Blob([wavHead(file.size), file], { type: "audio/wav" }) : file;
  return { file, playable, name: `speech.${format}` };
}

const rate = 24_000;
const sampleBytes = 2;

/** wavHead builds the header. Source: RIFF WAVE, "fmt " chunk; raw samples are 24 kHz, 16 bit, one channel. */
function wavHead(size: number): ArrayBuffer {
  const head = new DataView(new ArrayBuffer(44));
  const word = (at: number, text: string) => {
    for (let i = 0; i < text.length; i++) head.setUint8(at + i, text.charCodeAt(i));
  };
  word(0, "RIFF");
  head.setUint32(4, 36 + size, true);
  word(8, "WAVEfmt ");
  head.setUint32(16, 16, true);
  head.setUint16(20, 1, true);
  head.setUint16(22, 1, true);
  head.setUint32(24, rate, true);
  head.setUint32(28, rate * sampleBytes, true);
  head.setUint16(32, sampleBytes, true);
  head.setUint16(34, 8 * sampleBytes, true);
  word(36, "data");
  head.setUint32(40, size, true);
  return head.buffer;
}
