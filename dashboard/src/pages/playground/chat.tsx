/**
 * A conversation with a model, or with two side by side that are sent the same. Answers are streamed; the person types the results of
 * tool calls.
 */
import { Box, Button, Group, Paper, Select, Text, VisuallyHidden } from "@mantine/core";
import { IconRefresh, IconTrash } from "@tabler/icons-react";
import { type ReactNode, type RefObject, useRef, useState } from "react";
import { useJoin } from "../../language/join.ts";
import { texts, useTexts } from "../../language/language.tsx";
import text from "../../parts/text.module.css";
import { ChatSettingsForm, settingsOf, unset } from "./chat-settings.tsx";
import { Composer } from "./composer.tsx";
import { openCalls, type Turn } from "./conversation.ts";
import { Log } from "./log.tsx";
import classes from "./playground.module.css";
import { ToolResults } from "./tool-results.tsx";
import { type ChatState, useChat } from "./use-chat.ts";
import { ViewCode } from "./view-code.tsx";

const said = texts(
  {
    retry: "Retry",
    clear: "Clear",
    compare: "Compare with",
    nothing: "No other model",
    answered: (text: string) => `The model answered: ${text}`,
    called: (names: string) => `The model calls ${names} and waits for the result.`,
    failed: "The answer did not come.",
  },
  {
    retry: "重试",
    clear: "清空",
    compare: "对比模型",
    nothing: "不对比",
    answered: (text: string) => `模型回答：${text}`,
    called: (names: string) => `模型调用 ${names}，正在等待结果。`,
    failed: "未能得到回答。",
  },
);

interface Props {
  readonly keyId: string;
  readonly model: string;
  /** models are the chat models that may be called, to compare with. */
  readonly models: readonly string[];
}

interface Side {
  readonly model: string;
  readonly chat: ChatState;
}

export function Chat({ keyId, model, models }: Props) {
  const t = useTexts(said);
  const [values, setValues] = useState(unset);
  const [other, setOther] = useState<string>();
  const settings = settingsOf(values);
  const first = useChat({ keyId, model, settings });
  const second = useChat({ keyId, model: other ?? model, settings });
  const sides: readonly Side[] = [
    { model, chat: first },
    ...(other === undefined ? [] : [{ model: other, chat: second }]),
  ];
  const field = useRef<HTMLTextAreaElement>(null);
  // Both models get the same messages, so a comparison begins a new conversation.
  const compare = (chosen: string | null) => {
    for (const chat of [first, second]) chat.clear();
    setOther(chosen ?? undefined);
  };
  return (
    <>
      <Group gap="sm" align="flex-end">
        <Select
          label={t.compare}
          placeholder={t.nothing}
          data={models.filter((one) => one !== model)}
          value={other ?? null}
          onChange={compare}
          searchable
          clearable
          w={{ base: "100%", xs: 260 }}
        />
        <ViewCode model={model} turns={first.turns.filter(isOver)} settings={settings} />
      </Group>
      <div className={classes.panes}>
        <Paper withBorder className={classes.conversation}>
          <div className={classes.sides}>
            {sides.map((side) => (
              <SideView key={side.model} side={side} isNamed={sides.length > 1} field={field} />
            ))}
          </div>
          <Box className={classes.composer}>
            <Controls sides={sides} field={field} />
          </Box>
        </Paper>
        <ChatSettingsForm values={values} onChange={setValues} />
      </div>
    </>
  );
}

/** isOver is whether a turn can be sent again: an answer that is coming, or failed, cannot. */
function isOver(turn: Turn): boolean {
  return turn.by !== "model" || turn.state === "done" || turn.state === "stopped";
}

interface SideProps {
  readonly side: Side;
  /** isNamed is whether the model is named, since there are two. */
  readonly isNamed: boolean;
  readonly field: RefObject<HTMLTextAreaElement | null>;
}

function SideView({ side: { model, chat }, isNamed, field }: SideProps) {
  const { turns, isComing, answerCalls, retry } = chat;
  const calls = openCalls(turns);
  const last = turns.at(-1);
  const mayRetry = !isComing && last?.by === "model";
  const giveResults = (texts: readonly string[]) => {
    answerCalls(calls, texts);
    field.current?.focus();
  };
  return (
    <div className={classes.side}>
      {isNamed && (
        <Text size="sm" fw={600} px="md" pt="sm" className={text.anywhere}>
          {model}
        </Text>
      )}
      <Log turns={turns} retry={mayRetry ? retry : undefined} model={isNamed ? model : undefined} />
      {calls.length > 0 && (
        <Box px="md">
          <ToolResults key={last?.id} calls={calls} onResults={giveResults} />
        </Box>
      )}
      <Announcement turn={last} />
    </div>
  );
}

function Controls({ sides, field }: { readonly sides: readonly Side[]; readonly field: SideProps["field"] }) {
  const t = useTexts(said);
  const chats = sides.map(({ chat }) => chat);
  const isComing = chats.some((chat) => chat.isComing);
  const mayRetry = chats.every(({ turns, isComing }) => !isComing && turns.at(-1)?.by === "model");
  const hasFailed = chats.some(({ turns }) => isFailed(turns.at(-1)));
  const each = (act: (chat: ChatState) => void) => () => {
    for (const chat of chats) act(chat);
  };
  return (
    <Composer
      field={field}
      onSend={(text, files) => each(({ send }) => send(text, files))()}
      isComing={isComing}
      onStop={() => {
        each(({ stop }) => stop())();
        field.current?.focus();
      }}
      waits={chats.some(({ turns }) => openCalls(turns).length > 0)}
    >
      {chats.some(({ turns }) => turns.length > 0) && (
        <Group gap={4}>
          {mayRetry && !hasFailed && (
            <Small icon={<IconRefresh size={14} aria-hidden />} says={t.retry} on={each(({ retry }) => retry())} />
          )}
          <Small icon={<IconTrash size={14} aria-hidden />} says={t.clear} on={each(({ clear }) => clear())} />
        </Group>
      )}
    </Composer>
  );
}

function isFailed(turn: Turn | undefined): boolean {
  return turn?.by === "model" && turn.state === "failed";
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
  const join = useJoin();
  return (
    <VisuallyHidden role="status" aria-live="polite">
      <Text>{turn?.by === "model" && announced(turn, t, join)}</Text>
    </VisuallyHidden>
  );
}

function announced(
  answer: Extract<Turn, { by: "model" }>,
  t: ReturnType<typeof useTexts<(typeof said)["en"]>>,
  join: ReturnType<typeof useJoin>,
): string {
  if (answer.state === "coming") return "";
  if (answer.state === "failed") return t.failed;
  if (answer.calls.length > 0) return t.called(join.list(answer.calls.map(({ name }) => name)));
  return t.answered(answer.text);
}
