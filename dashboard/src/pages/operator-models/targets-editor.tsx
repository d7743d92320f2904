/** Edits which upstreams serve a model: targets are dragged into their order, by the pointer or by the arrow keys. */
import { ActionIcon, Group, Paper, Select, Stack, Text, TextInput, VisuallyHidden } from "@mantine/core";
import { IconGripVertical } from "@tabler/icons-react";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { AddRow, RemoveRow } from "../../parts/row-buttons.tsx";
import {
  addTarget,
  changeTarget,
  type Levels,
  moveBy,
  moveTo,
  placeOf,
  removeTarget,
  shareOf,
  type Target,
} from "./targets.ts";
import classes from "./targets-editor.module.css";

const said = texts(
  {
    first: "Asked first",
    next: "Asked if all above fail",
    none: "No targets: it is not served, unless its vendor's upstream serves it.",
    handle: (name: string) => `Move ${name}: arrow keys up and down`,
    moved: (name: string, level: number, place: number, count: number) =>
      `${name}: level ${level}, place ${place} of ${count}`,
    upstream: "Upstream",
    model: "Name there",
    weight: "Weight",
    of: (what: string, name: string) => `${what} of ${name}`,
    share: (share: string) => `Weight: ${share} of calls`,
    remove: (name: string) => `Remove ${name}`,
    add: "Add a target",
    newLevel: "Drop here to ask it after all others",
    unnamed: "a new target",
  },
  {
    first: "首先调用",
    next: "以上全部失败后调用",
    none: "没有目标：除非其厂商的上游提供，否则不可用。",
    handle: (name: string) => `移动 ${name}：使用上下方向键`,
    moved: (name: string, level: number, place: number, count: number) =>
      `${name}：第 ${level} 级，第 ${place} 位，共 ${count} 个`,
    upstream: "上游",
    model: "在上游的名称",
    weight: "权重",
    of: (what: string, name: string) => `${name} 的${what}`,
    share: (share: string) => `权重：${share} 的调用`,
    remove: (name: string) => `删除 ${name}`,
    add: "添加目标",
    newLevel: "拖到此处，在其他目标之后调用",
    unnamed: "新目标",
  },
);

interface Props {
  readonly value: Levels;
  readonly onChange: (value: Levels) => void;
  /** upstreams are the names to choose from. */
  readonly upstreams: readonly string[];
  /** modelId is the name that a new target has at its upstream. */
  readonly modelId: string;
}

export function TargetsEditor({ value, onChange, upstreams, modelId }: Props) {
  const t = useTexts(said);
  const [dragged, setDragged] = useState<string>();
  const [told, setTold] = useState("");
  const list = useRef<HTMLDivElement>(null);
  const nameOf = ({ upstream }: Target) => upstream || t.unnamed;
  const move = (next: Levels, target: Target) => {
    const place = placeOf(next, target.key);
    onChange(next);
    if (place) setTold(t.moved(nameOf(target), place.level + 1, place.index + 1, next[place.level]?.length ?? 0));
  };
  const byKey = (event: KeyboardEvent, target: Target) => {
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    move(moveBy(value, target.key, by as -1 | 1), target);
    // The row may be drawn anew in another level: its handle keeps the focus.
    requestAnimationFrame(() => list.current?.querySelector<HTMLElement>(`[data-handle="${target.key}"]`)?.focus());
  };
  useDrag(
    dragged,
    (event) => {
      const target = value.flat().find(({ key }) => key === dragged);
      const to = target && placeUnder(event, value, target.key);
      if (to) move(moveTo(value, target.key, to), target);
    },
    () => setDragged(undefined),
  );
  const isAlone = value.length === 1 && value[0]?.length === 1;
  // One flat list, so that a row that changes its level stays the same element.
  return (
    <Stack gap="sm" ref={list}>
      {value.length === 0 && (
        <Text size="sm" c="dimmed">
          {t.none}
        </Text>
      )}
      {value.flatMap((targets, level) => [
        <Text key={`level ${level}`} size="xs" c="dimmed">
          {level === 0 ? t.first : t.next}
        </Text>,
        ...targets.map((target, index) => (
          <TargetRow
            key={target.key}
            {...{ target, targets, upstreams, level, index }}
            isDragged={dragged === target.key}
            onKeyDown={(event) => byKey(event, target)}
            onGrab={() => setDragged(target.key)}
            onChange={(change) => onChange(changeTarget(value, target.key, change))}
            onRemove={() => onChange(removeTarget(value, target.key))}
          />
        )),
      ])}
      {dragged !== undefined && !isAlone && (
        <div className={classes.newLevel} data-level={value.length} data-index={0}>
          {t.newLevel}
        </div>
      )}
      <VisuallyHidden role="status">{told}</VisuallyHidden>
      <AddRow onClick={() => onChange(addTarget(value, { upstream: upstreams[0] ?? "", model: modelId, weight: "1" }))}>
        {t.add}
      </AddRow>
    </Stack>
  );
}

/** useDrag follows the pointer while something is dragged, wherever it goes. */
function useDrag(dragged: string | undefined, onMove: (event: PointerEvent) => void, onEnd: () => void): void {
  const latest = useRef({ onMove, onEnd });
  latest.current = { onMove, onEnd };
  useEffect(() => {
    if (dragged === undefined) return;
    const move = (event: PointerEvent) => latest.current.onMove(event);
    const end = () => latest.current.onEnd();
    window.addEventListener("pointermove", move);
    for (const name of ["pointerup", "pointercancel"]) window.addEventListener(name, end);
    return () => {
      window.removeEventListener("pointermove", move);
      for (const name of ["pointerup", "pointercancel"]) window.removeEventListener(name, end);
    };
  }, [dragged]);
}

/** placeUnder returns the place of the row under the pointer, if it is another one's. */
function placeUnder(event: PointerEvent, levels: Levels, key: string) {
  const under = document.elementsFromPoint(event.clientX, event.clientY);
  const row = under.map((element) => element.closest<HTMLElement>("[data-level]")).find((found) => found !== null);
  if (!row || row.dataset.key === key) return undefined;
  const to = { level: Number(row.dataset.level), index: Number(row.dataset.index) };
  const from = placeOf(levels, key);
  // In its own level a row is passed only beyond its middle, so that rows of other heights do not flicker.
  const { top, height } = row.getBoundingClientRect();
  const isBelow = event.clientY > top + height / 2;
  if (from?.level === to.level) return from.index < to.index === isBelow ? to : undefined;
  return isBelow && row.dataset.key !== undefined ? { ...to, index: to.index + 1 } : to;
}

interface RowProps {
  readonly target: Target;
  /** targets are those of its level. */
  readonly targets: readonly Target[];
  readonly upstreams: readonly string[];
  readonly level: number;
  readonly index: number;
  readonly isDragged: boolean;
  readonly onKeyDown: (event: KeyboardEvent) => void;
  readonly onGrab: () => void;
  readonly onChange: (change: Partial<Target>) => void;
  readonly onRemove: () => void;
}

function TargetRow({ target, targets, upstreams, level, index, isDragged, ...on }: RowProps) {
  const t = useTexts(said);
  const format = useFormat();
  const name = target.upstream || t.unnamed;
  const share = shareOf(target, targets);
  const known = upstreams.includes(target.upstream) || target.upstream === "";
  return (
    <Paper
      withBorder
      p="xs"
      className={classes.row}
      data-dragged={isDragged || undefined}
      data-key={target.key}
      data-level={level}
      data-index={index}
    >
      <Group gap="xs" wrap="nowrap" align="flex-start">
        <ActionIcon
          variant="subtle"
          color="gray"
          size="lg"
          className={classes.handle}
          aria-label={t.handle(name)}
          data-handle={target.key}
          onKeyDown={on.onKeyDown}
          onPointerDown={on.onGrab}
        >
          <IconGripVertical size={18} aria-hidden />
        </ActionIcon>
        <Group gap="xs" flex={1} miw={0} align="flex-start">
          <Select
            aria-label={t.of(t.upstream, name)}
            placeholder={t.upstream}
            data={known ? [...upstreams] : [...upstreams, target.upstream]}
            value={target.upstream || null}
            onChange={(upstream) => on.onChange({ upstream: upstream ?? "" })}
            allowDeselect={false}
            searchable
            flex="1 1 130px"
          />
          <TextInput
            aria-label={t.of(t.model, name)}
            placeholder={t.model}
            value={target.model}
            onChange={(event) => on.onChange({ model: event.currentTarget.value })}
            autoComplete="off"
            flex="2 1 160px"
          />
          <TextInput
            aria-label={t.of(t.weight, name)}
            placeholder={t.weight}
            inputMode="numeric"
            value={target.weight}
            onChange={(event) => on.onChange({ weight: event.currentTarget.value })}
            autoComplete="off"
            flex="0 1 104px"
            description={targets.length > 1 && share !== undefined ? t.share(format.percent(share)) : t.weight}
          />
        </Group>
        <RemoveRow label={t.remove(name)} onClick={on.onRemove} />
      </Group>
    </Paper>
  );
}
