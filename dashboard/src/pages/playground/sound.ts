/** Speech as a file, and as something that a browser plays. */
import { SpeechFormat } from "../../../../gen/modelgateway/v1/speech_pb.ts";

/** The formats, by the words of the contract, which are the ends of files' names too. */
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
  /** The file itself, or with the head that bare samples need to be played. */
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

/** Source: RIFF WAVE, "fmt " chunk; bare samples are 24 kHz, 16 bit, one channel. */
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
