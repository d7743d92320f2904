/** The conversation so far. It scrolls to its end unless the reader has scrolled up. */
import { IconMessageCircle } from "@tabler/icons-react";
import { type UIEvent, useEffect, useRef } from "react";
import { texts, useTexts } from "../../language/language.tsx";
import { Empty } from "../../parts/empty.tsx";
import type { Turn } from "./conversation.ts";
import classes from "./playground.module.css";
import { TurnView } from "./turn-view.tsx";

const said = texts(
  {
    conversation: "Conversation",
    with: (model: string) => `Conversation with ${model}`,
    begin: "Say something to the model",
    kept: "The conversation lives on this page only. Answers are charged to the key.",
  },
  {
    conversation: "对话",
    with: (model: string) => `与 ${model} 的对话`,
    begin: "向模型提问",
    kept: "对话只保留在此页面上，费用计入所选密钥。",
  },
);

interface Props {
  readonly turns: readonly Turn[];
  readonly retry: (() => void) | undefined;
  /** model is named where there are several conversations. */
  readonly model: string | undefined;
}

export function Log({ turns, retry, model }: Props) {
  const t = useTexts(said);
  const box = useRef<HTMLElement>(null);
  const isAtEnd = useRef(true);
  const top = useRef(0);
  const shown = useRef(0);
  useEffect(() => {
    // After sending, the reader wants to see the answer.
    if (turns.length !== shown.current) isAtEnd.current = true;
    shown.current = turns.length;
    if (box.current && isAtEnd.current) box.current.scrollTop = box.current.scrollHeight;
  }, [turns]);
  // Growing text moves the end away: only scrolling up is the reader's own.
  const onScroll = ({ currentTarget: { scrollTop, scrollHeight, clientHeight } }: UIEvent) => {
    if (scrollHeight - scrollTop - clientHeight < 40) isAtEnd.current = true;
    else if (scrollTop < top.current) isAtEnd.current = false;
    top.current = scrollTop;
  };
  const label = model === undefined ? t.conversation : t.with(model);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard.
    <section ref={box} className={classes.log} onScroll={onScroll} tabIndex={0} aria-label={label}>
      {turns.length === 0 && (
        <Empty icon={IconMessageCircle} title={t.begin}>
          {t.kept}
        </Empty>
      )}
      {turns.map((turn, at) => (
        <TurnView key={turn.id} turn={turn} retry={at === turns.length - 1 ? retry : undefined} />
      ))}
    </section>
  );
}
