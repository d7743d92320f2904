/** A conversation with a model. Answers are streamed; the person types the results of tool calls. */
import { Box, Button, Group, Paper, Text, VisuallyHidden } from "@mantine/core";
import { IconRefresh, IconTrash } from "@tabler/icons-react";
import { type ReactNode, useRef, useState } from "react";
import { texts, useTexts } from "../../language/language.tsx";
import { ChatSettingsForm, settingsOf, unset } from "./chat-settings.tsx";
import { Composer } from "./composer.tsx";
import { openCalls, type Turn } from "./conversation.ts";
import { Log } from "./log.tsx";
import classes from "./playground.module.css";
import { ToolResults } from "./tool-results.tsx";
import { useChat } from "./use-chat.ts";

const said = texts(
  {
    retry: "Retry",
    clear: "Clear",
    answered: (text: string) => `The model answered: ${text}`,
    called: (names: string) => `The model calls ${names} and waits for the result.`,
    failed: "The answer did not come.",
  },
  {
    retry: "重试",
    clear: "清空",
    answered: (text: string) => `模型回答：${text}`,
    called: (names: string) => `模型调用 ${names}，正在等待结果。`,
    failed: "未能得到回答。",
  },
);

interface Props {
  readonly keyId: string;
  readonly model: string;
}

export function Chat({ keyId, model }: Props) {
  const t = useTexts(said);
  const [values, setValues] = useState(unset);
  const settings = settingsOf(values);
  const { turns, isComing, send, answerCalls, retry, stop, clear } = useChat({ keyId, model, settings });
  const calls = openCalls(turns);
  const last = turns.at(-1);
  const field = useRef<HTMLTextAreaElement>(null);
  const stopped = () => {
    stop();
    field.current?.focus();
  };
  const giveResults = (texts: readonly string[]) => {
    answerCalls(calls, texts);
    field.current?.focus();
  };
  const mayRetry = !isComing && last?.by === "model";
  return (
    <div className={classes.panes}>
      <Paper withBorder className={classes.conversation}>
        <Log turns={turns} retry={mayRetry ? retry : undefined} />
        <Box className={classes.composer}>
          {calls.length > 0 && <ToolResults key={last?.id} calls={calls} onResults={giveResults} />}
          <Composer field={field} onSend={send} isComing={isComing} onStop={stopped} waits={calls.length > 0}>
            {turns.length > 0 && (
              <Group gap={4}>
                {mayRetry && last.state !== "failed" && (
                  <Small icon={<IconRefresh size={14} aria-hidden />} says={t.retry} on={retry} />
                )}
                <Small icon={<IconTrash size={14} aria-hidden />} says={t.clear} on={clear} />
              </Group>
            )}
          </Composer>
        </Box>
        <Announcement turn={last} />
      </Paper>
      <ChatSettingsForm values={values} onChange={setValues} />
    </div>
  );
}

function Small({ icon, says, on }: { readonly icon: ReactNode; readonly says: string; readonly on: () => void }) {
  return (
    <Button variant="subtle" color="gray" size="compact-sm" leftSection={icon} onClick={on}>
      {says}
    </Button>
  );
}

/** Announcement reads an answer out to screen readers when it is complete, not part by part. */
function Announcement({ turn }: { readonly turn: Turn | undefined }) {
  const t = useTexts(said);
  return (
    <VisuallyHidden role="status" aria-live="polite">
      <Text>{turn?.by === "model" && announced(turn, t)}</Text>
    </VisuallyHidden>
  );
}

function announced(
  answer: Extract<Turn, { by: "model" }>,
  t: ReturnType<typeof useTexts<(typeof said)["en"]>>,
): string {
  if (answer.state === "coming") return "";
  if (answer.state === "failed") return t.failed;
  if (answer.calls.length > 0) return t.called(answer.calls.map(({ name }) => name).join(", "));
  return t.answered(answer.text);
}
