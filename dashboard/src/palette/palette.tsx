/**
 * The palette: whatever has a name, an id or a place in the dashboard, from the keyboard (Ctrl+K or ⌘K). A file of its own, so that it
 * loads after the page.
 *
 * Focus stays in the field. Arrow keys and those for pages select, Enter opens, Escape closes; screen readers are told what is selected.
 */
import { Kbd, Modal, TextInput, VisuallyHidden } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { counted } from "../language/counted.ts";
import { texts, useTexts } from "../language/language.tsx";
import { useNarrow } from "../parts/narrow.ts";
import type { Item, ItemGroup } from "./item.ts";
import { showPalette, usePaletteShown } from "./open.ts";
import classes from "./palette.module.css";
import { useGroups } from "./use-groups.ts";

const said = texts(
  {
    title: "Search",
    hint: "Pages, models, keys, settings, a request id…",
    hintOperator: "Pages, models, keys, upstreams, accounts, settings, a request id…",
    hintNarrow: "A page, a name, an id…",
    found: "What is found",
    none: "Nothing found",
    count: (count: number) => counted(count, "result"),
    choose: "choose",
    open: "open",
    close: "close",
  },
  {
    title: "搜索",
    hint: "页面、模型、密钥、设置、请求 ID…",
    hintOperator: "页面、模型、密钥、上游、账户、设置、请求 ID…",
    hintNarrow: "页面、名称、ID…",
    found: "搜索结果",
    none: "没有找到",
    count: (count: number) => `${count} 个结果`,
    choose: "选择",
    open: "打开",
    close: "关闭",
  },
);

interface Props {
  /** operator is whether the reader operates the gateway. */
  readonly operator: boolean;
}

export default function Palette({ operator }: Props) {
  const t = useTexts(said);
  const isShown = usePaletteShown();
  const isNarrow = useNarrow("36em");
  return (
    <Modal.Root
      opened={isShown}
      onClose={() => showPalette(false)}
      size={600}
      yOffset={isNarrow ? 12 : "12dvh"}
      xOffset={12}
      // open.ts gives it back.
      returnFocus={false}
    >
      <Modal.Overlay backgroundOpacity={0.4} />
      <Modal.Content aria-label={t.title}>
        <Search operator={operator} />
      </Modal.Content>
    </Modal.Root>
  );
}

function Search({ operator }: Props) {
  const t = useTexts(said);
  const isNarrow = useNarrow("36em");
  const listId = useId();
  const [query, setQuery] = useState("");
  const groups = useGroups(query.trim());
  const items = groups.flatMap((group) => group.items);
  const [chosen, setChosen] = useState<string>();
  // The next letter may remove the chosen item.
  const selected = Math.max(
    0,
    items.findIndex(({ id }) => id === chosen),
  );
  const optionId = (at: number) => `${listId}-${at}`;
  const run = (item: Item | undefined) => {
    if (!item) return;
    showPalette(false);
    item.run();
    // Another page has the focus at its beginning, and not where the palette was opened.
    if (!item.stays) document.getElementById("content")?.focus({ preventScroll: true });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // Enter that ends the input of a Chinese word chooses that word.
    if (event.nativeEvent.isComposing) return;
    const to = placeAfter(event.key, selected, items.length);
    if (to === undefined && event.key !== "Enter") return;
    event.preventDefault();
    if (to === undefined) run(items[selected]);
    else setChosen(items[to]?.id);
  };
  return (
    <>
      <TextInput
        className={classes.search ?? ""}
        variant="unstyled"
        size="md"
        px="xs"
        data-autofocus
        role="combobox"
        aria-label={t.title}
        aria-autocomplete="list"
        aria-expanded={items.length > 0}
        aria-controls={items.length > 0 ? listId : undefined}
        aria-activedescendant={items.length > 0 ? optionId(selected) : undefined}
        placeholder={isNarrow ? t.hintNarrow : operator ? t.hintOperator : t.hint}
        autoComplete="off"
        spellCheck={false}
        leftSection={<IconSearch size={18} stroke={1.5} aria-hidden />}
        value={query}
        onChange={(event) => {
          setQuery(event.currentTarget.value);
          setChosen(undefined);
        }}
        onKeyDown={onKeyDown}
      />
      {items.length > 0 ? (
        <Found {...{ groups, selected, listId, optionId }} onChoose={setChosen} onRun={run} />
      ) : (
        <div className={classes.none}>{t.none}</div>
      )}
      <VisuallyHidden role="status">{items.length > 0 ? t.count(items.length) : t.none}</VisuallyHidden>
      <Keys />
    </>
  );
}

/** placeAfter returns the place that a key selects; undefined for other keys. */
function placeAfter(key: string, at: number, count: number): number | undefined {
  if (count === 0) return undefined;
  if (key === "ArrowDown") return (at + 1) % count;
  if (key === "ArrowUp") return (at + count - 1) % count;
  if (key === "PageDown") return Math.min(at + 8, count - 1);
  return key === "PageUp" ? Math.max(at - 8, 0) : undefined;
}

interface FoundProps {
  readonly groups: readonly ItemGroup[];
  /** selected is the place of an item among those of all groups. */
  readonly selected: number;
  readonly listId: string;
  readonly optionId: (at: number) => string;
  readonly onChoose: (id: string) => void;
  readonly onRun: (item: Item) => void;
}

function Found({ groups, selected, listId, optionId, onChoose, onRun }: FoundProps) {
  const t = useTexts(said);
  const list = useRef<HTMLDivElement>(null);
  const active = optionId(selected);
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [active]);
  let at = 0;
  return (
    <div ref={list} id={listId} role="listbox" aria-label={t.found} className={classes.list}>
      {groups.map(({ label, items }) => (
        // biome-ignore lint/a11y/useSemanticElements: a group of options has no element of its own.
        <div key={label} role="group" aria-label={label}>
          <div className={classes.head} aria-hidden>
            {label}
          </div>
          {items.map((item) => {
            const place = at++;
            return (
              <Option
                key={item.id}
                id={optionId(place)}
                item={item}
                selected={place === selected}
                onPoint={() => onChoose(item.id)}
                onRun={() => onRun(item)}
              />
            );
          })}
        </div>
      ))}
    </div>
  );
}

interface OptionProps {
  readonly id: string;
  readonly item: Item;
  readonly selected: boolean;
  readonly onPoint: () => void;
  readonly onRun: () => void;
}

function Option({ id, item: { names, about, icon: Icon }, selected, onPoint, onRun }: OptionProps) {
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: focus stays in the field, which tells what is selected.
    // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys.
    <div
      id={id}
      role="option"
      aria-selected={selected}
      className={classes.item}
      // Focus stays in the field.
      onMouseDown={(event) => event.preventDefault()}
      onMouseMove={selected ? undefined : onPoint}
      onClick={onRun}
    >
      <span className={classes.icon}>
        <Icon size={18} aria-hidden />
      </span>
      <div className={classes.words}>
        <div className={classes.label}>{names[0]}</div>
        {about !== undefined && <div className={classes.about}>{about}</div>}
      </div>
    </div>
  );
}

function Keys() {
  const t = useTexts(said);
  return (
    <div className={classes.keys} aria-hidden>
      <span>
        <Kbd size="xs">↑</Kbd> <Kbd size="xs">↓</Kbd> {t.choose}
      </span>
      <span>
        <Kbd size="xs">↵</Kbd> {t.open}
      </span>
      <span>
        <Kbd size="xs">Esc</Kbd> {t.close}
      </span>
    </div>
  );
}
