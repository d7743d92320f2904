/** One turn of the conversation. Texts of models and people are shown as plain text with their line breaks. */
import { Box, Code, Group, Loader, Stack, Text } from "@mantine/core";
import { memo } from "react";
import { texts, useTexts } from "../../language/language.tsx";
import { CallFailure } from "./call-failure.tsx";
import type { Answer, Attachment, Call, Turn } from "./conversation.ts";
import { Measures } from "./measures.tsx";
import classes from "./playground.module.css";

const said = texts(
  {
    person: "You",
    model: "Model",
    tool: (name: string) => `Result of ${name}`,
    calls: (name: string) => `Calls ${name}`,
    reasoning: "Reasoning",
    coming: "The answer is coming",
    stopped: "Stopped.",
    empty: "The model said nothing.",
  },
  {
    person: "您",
    model: "模型",
    tool: (name: string) => `${name} 的结果`,
    calls: (name: string) => `调用 ${name}`,
    reasoning: "推理",
    coming: "正在生成回答",
    stopped: "已停止。",
    empty: "模型没有返回内容。",
  },
);

interface Props {
  readonly turn: Turn;
  /** retry asks again, if this is the last answer. */
  readonly retry?: (() => void) | undefined;
}

export const TurnView = memo(function TurnView({ turn, retry }: Props) {
  const t = useTexts(said);
  const by = turn.by === "tool" ? t.tool(turn.call.name) : t[turn.by];
  return (
    <Box component="article" className={turn.by === "model" ? undefined : classes.mine} aria-label={by}>
      <Text size="xs" c="dimmed" fw={600} mb={4}>
        {by}
      </Text>
      {turn.by === "model" ? (
        <Said answer={turn} retry={retry} />
      ) : (
        <>
          {turn.by === "person" && <Files of={turn.files} />}
          <Text size="sm" className={classes.text}>
            {turn.text}
          </Text>
        </>
      )}
    </Box>
  );
});

/** Files shows images small, and names other files. */
function Files({ of }: { readonly of: readonly Attachment[] }) {
  if (of.length === 0) return null;
  return (
    <Group gap="xs" mb={4}>
      {of.map(({ name, type, url }, at) =>
        type.startsWith("image/") ? (
          <img key={at} src={url} alt={name} className={classes.image} />
        ) : (
          <Code key={at}>{name}</Code>
        ),
      )}
    </Group>
  );
}

function Said({ answer, retry }: { readonly answer: Answer; readonly retry: (() => void) | undefined }) {
  const t = useTexts(said);
  const { text, reasoning, calls, state, error } = answer;
  const isEmpty = text === "" && calls.length === 0;
  return (
    <Stack gap="xs">
      {reasoning !== "" && (
        <Box component="details" fz="sm">
          <summary>{t.reasoning}</summary>
          <Text size="sm" c="dimmed" className={classes.text}>
            {reasoning}
          </Text>
        </Box>
      )}
      {text !== "" && (
        <Text size="sm" className={classes.text}>
          {text}
        </Text>
      )}
      {calls.map((call, at) => (
        // A call has no id before its first chunk, but its position never changes.
        <Called key={at} call={call} />
      ))}
      {state === "coming" && isEmpty && <Loader type="dots" size="sm" aria-label={t.coming} role="status" />}
      {state === "done" && isEmpty && (
        <Text size="sm" c="dimmed">
          {t.empty}
        </Text>
      )}
      {state === "stopped" && (
        <Text size="sm" c="dimmed">
          {t.stopped}
        </Text>
      )}
      {state === "failed" && <CallFailure error={error} retry={retry} />}
      {state !== "coming" && <Measures of={answer} />}
    </Stack>
  );
}

function Called({ call }: { readonly call: Call }) {
  const t = useTexts(said);
  return (
    <Box>
      <Text size="sm" fw={500} mb={4}>
        {t.calls(call.name)}
      </Text>
      <Code block className={classes.text}>
        {indented(call.arguments)}
      </Code>
    </Box>
  );
}

/** indented formats JSON: models write it on one line, and not always valid. */
function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
