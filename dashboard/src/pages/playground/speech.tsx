/** Synthesises speech, to listen to or to save as a file. */
import { Autocomplete, Button, Group, NumberInput, Paper, Select, Stack, Text, Textarea, Title } from "@mantine/core";
import { IconPlayerStopFilled, IconVolume } from "@tabler/icons-react";
import { useState } from "react";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { CallFailure } from "./call-failure.tsx";
import classes from "./playground.module.css";
import { type Format, formatNames } from "./sound.ts";
import { SpokenView } from "./spoken-view.tsx";
import { useSpeech } from "./use-speech.ts";

const said = texts(
  {
    text: "Text",
    textHint: "What to speak",
    left: (count: string, most: string) => `${count} of ${most} characters`,
    settings: "Settings",
    voice: "Voice",
    voiceIs: "One of these, or another that the model has.",
    format: "Format",
    speed: "Speed",
    speedIs: "0.25 to 4. 1 is the normal speed.",
    speak: "Speak",
    stop: "Stop",
    bytes: (count: string) => `Bytes so far: ${count}`,
  },
  {
    text: "文本",
    textHint: "要朗读的内容",
    left: (count: string, most: string) => `${count} / ${most} 字符`,
    settings: "设置",
    voice: "音色",
    voiceIs: "可选其一，或填写模型支持的其他音色。",
    format: "格式",
    speed: "语速",
    speedIs: "0.25 到 4，1 为正常语速。",
    speak: "朗读",
    stop: "停止",
    bytes: (count: string) => `已接收字节：${count}`,
  },
);

const voices = ["alloy", "echo", "fable", "onyx", "nova", "shimmer"];
const maxCharacters = 4096;

interface Props {
  readonly keyId: string;
  readonly model: string;
}

export function Speech({ keyId, model }: Props) {
  const t = useTexts(said);
  const format = useFormat();
  const { speak, bytes, stop } = useSpeech();
  const [input, setInput] = useState("");
  const [voice, setVoice] = useState("alloy");
  const [coding, setCoding] = useState<Format>("mp3");
  const [speed, setSpeed] = useState<number | string>(1);
  const length = [...input].length;
  const mayAsk = input.trim() !== "" && length <= maxCharacters && voice.trim() !== "";
  const ask = () =>
    speak.mutate({
      keyId,
      model,
      input,
      voice: voice.trim(),
      format: coding,
      speed: typeof speed === "number" ? speed : undefined,
    });
  return (
    <form
      className={classes.panes}
      onSubmit={(event) => {
        event.preventDefault();
        if (mayAsk && !speak.isPending) ask();
      }}
    >
      <Paper withBorder p="md" component="section" aria-label={t.text}>
        <Stack>
          <Textarea
            label={t.text}
            placeholder={t.textHint}
            description={t.left(format.count(length), format.count(maxCharacters))}
            autosize
            minRows={5}
            maxRows={14}
            value={input}
            onChange={(event) => setInput(event.currentTarget.value)}
          />
          <Group justify="flex-end">
            {speak.isPending ? (
              <>
                <Text size="sm" role="status">
                  {t.bytes(format.count(bytes))}
                </Text>
                <Button variant="default" leftSection={<IconPlayerStopFilled size={16} aria-hidden />} onClick={stop}>
                  {t.stop}
                </Button>
              </>
            ) : (
              <Button type="submit" disabled={!mayAsk} leftSection={<IconVolume size={16} aria-hidden />}>
                {t.speak}
              </Button>
            )}
          </Group>
          {speak.error && <CallFailure error={speak.error} retry={ask} />}
          {speak.data && <SpokenView spoken={speak.data} />}
        </Stack>
      </Paper>
      <Paper withBorder p="md" component="section" aria-label={t.settings}>
        <Stack gap="sm">
          <Title order={2} size="h5">
            {t.settings}
          </Title>
          <Autocomplete label={t.voice} description={t.voiceIs} data={voices} value={voice} onChange={setVoice} />
          <Select
            {...{ label: t.format, data: formatNames, value: coding, allowDeselect: false }}
            onChange={(chosen) => setCoding((chosen ?? "mp3") as Format)}
          />
          <NumberInput
            {...{ label: t.speed, description: t.speedIs, value: speed, onChange: setSpeed }}
            {...{ min: 0.25, max: 4, step: 0.25, decimalScale: 2 }}
          />
        </Stack>
      </Paper>
    </form>
  );
}
