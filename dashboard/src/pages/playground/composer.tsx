/** The message field: Enter sends, Shift+Enter inserts a line break. A running answer can be stopped. */
import { Button, Group, Textarea } from "@mantine/core";
import { IconPlayerStopFilled, IconSend } from "@tabler/icons-react";
import { type KeyboardEvent, type ReactNode, type RefObject, useState } from "react";
import { texts, useTexts } from "../../language/language.tsx";
import { AttachButton, Attached } from "./attachments.tsx";
import type { Attachment } from "./conversation.ts";

const said = texts(
  {
    message: "Message",
    hint: "Write a message",
    keys: "Enter sends, Shift+Enter makes a new line.",
    waits: "Give the results of the calls first.",
    send: "Send",
    stop: "Stop",
  },
  {
    message: "消息",
    hint: "输入消息",
    keys: "Enter 发送，Shift+Enter 换行。",
    waits: "请先填写调用的结果。",
    send: "发送",
    stop: "停止",
  },
);

interface Props {
  readonly onSend: (text: string, files: readonly Attachment[]) => void;
  readonly onStop: () => void;
  readonly isComing: boolean;
  /** waits is whether tool calls need their results first. */
  readonly waits: boolean;
  readonly field: RefObject<HTMLTextAreaElement | null>;
  readonly children?: ReactNode;
}

export function Composer({ onSend, onStop, isComing, waits, field, children }: Props) {
  const t = useTexts(said);
  const [text, setText] = useState("");
  const [files, setFiles] = useState<readonly Attachment[]>([]);
  const maySend = !isComing && !waits && (text.trim() !== "" || files.length > 0);
  const send = () => {
    if (!maySend) return;
    onSend(text, files);
    setText("");
    setFiles([]);
  };
  // The Enter that confirms an input method's text does not send the message.
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <Textarea
        ref={field}
        aria-label={t.message}
        placeholder={t.hint}
        description={waits ? t.waits : t.keys}
        autosize
        minRows={2}
        maxRows={8}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <Attached files={files} onChange={setFiles} />
      <Group justify="space-between" mt="xs" mih={36}>
        <Group gap={4}>
          <AttachButton onAttach={(added) => setFiles((before) => [...before, ...added])} />
          {children}
        </Group>
        {isComing ? (
          <Button
            ml="auto"
            variant="default"
            leftSection={<IconPlayerStopFilled size={16} aria-hidden />}
            onClick={onStop}
          >
            {t.stop}
          </Button>
        ) : (
          <Button ml="auto" type="submit" disabled={!maySend} leftSection={<IconSend size={16} aria-hidden />}>
            {t.send}
          </Button>
        )}
      </Group>
    </form>
  );
}
