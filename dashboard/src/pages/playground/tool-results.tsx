/** Asks for the results of the model's tool calls, so that it can continue. */
import { Button, Group, Stack, Textarea } from "@mantine/core";
import { useState } from "react";
import { texts, useTexts } from "../../language/language.tsx";
import type { Call } from "./conversation.ts";

const said = texts(
  {
    result: (name: string) => `Result of ${name}`,
    hint: "What the tool answers, as text or JSON",
    go: "Give the results",
  },
  {
    result: (name: string) => `${name} 的结果`,
    hint: "工具返回的内容，文本或 JSON",
    go: "提交结果",
  },
);

interface Props {
  readonly calls: readonly Call[];
  readonly onResults: (texts: readonly string[]) => void;
}

export function ToolResults({ calls, onResults }: Props) {
  const t = useTexts(said);
  const [texts, setTexts] = useState<readonly string[]>(calls.map(() => ""));
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onResults(texts);
      }}
    >
      <Stack gap="xs" mb="md">
        {calls.map((call, at) => (
          <Textarea
            key={call.id}
            label={t.result(call.name)}
            placeholder={t.hint}
            autosize
            minRows={1}
            maxRows={6}
            value={texts[at] ?? ""}
            onChange={(event) => setTexts(texts.with(at, event.currentTarget.value))}
          />
        ))}
        <Group justify="flex-end">
          <Button type="submit" size="xs" disabled={texts.some((text) => text.trim() === "")}>
            {t.go}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
