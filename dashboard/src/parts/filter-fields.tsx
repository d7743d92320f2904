/** The fields of filters, which apply what is chosen or typed: choices, texts and days. */
import { Button, Group, Select, TextInput } from "@mantine/core";
import { IconFilterOff } from "@tabler/icons-react";
import { type ReactNode, useState } from "react";
import { texts, useTexts } from "../language/language.tsx";
import { type DaySpanName, daySpan, daySpanName, daySpanNames } from "./day-spans.ts";

const said = texts(
  {
    filters: "Filters",
    clear: "Clear filters",
    period: "Period",
    any: "Any time",
    chosen: "Chosen dates",
    from: "From",
    to: "To",
    today: "Today",
    yesterday: "Yesterday",
    week: "Last 7 days",
    days30: "Last 30 days",
    month: "This month",
    lastMonth: "Last month",
  },
  {
    filters: "筛选",
    clear: "清除筛选",
    period: "时间范围",
    any: "不限",
    chosen: "自选日期",
    from: "起始日期",
    to: "截止日期",
    today: "今天",
    yesterday: "昨天",
    week: "最近 7 天",
    days30: "最近 30 天",
    month: "本月",
    lastMonth: "上月",
  },
);

export interface Choice {
  readonly value: string;
  readonly label: string;
}

interface FiltersProps {
  /** onClear clears the filters; unset: none is set. */
  readonly onClear: (() => void) | undefined;
  readonly children: ReactNode;
}

/** Filters are the fields of a list's filters, with a button that clears them. */
export function Filters({ onClear, children }: FiltersProps) {
  const t = useTexts(said);
  return (
    <Group component="fieldset" gap={10} align="flex-end" bd={0} p={0} m={0} miw={0} aria-label={t.filters}>
      {children}
      {onClear && (
        <Button variant="subtle" px="xs" onClick={onClear} leftSection={<IconFilterOff size={16} aria-hidden />}>
          {t.clear}
        </Button>
      )}
    </Group>
  );
}

interface DaysProps {
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly on: (days: { readonly from?: string; readonly to?: string }) => void;
  /** any is what no days mean. Default: any time. */
  readonly any?: string;
}

/** Days chooses a span of days, by its name or by its first and its last day. */
export function Days({ from, to, on, any }: DaysProps) {
  const t = useTexts(said);
  const isChosen = from !== undefined || to !== undefined;
  const name = daySpanName({ ...(from ? { from } : {}), ...(to ? { to } : {}) }, new Date());
  const names = daySpanNames.map((value) => ({ value: value as string, label: t[value] }));
  const of = (days: { readonly from?: string | null | undefined; readonly to?: string | null | undefined }) =>
    on({ ...(days.from ? { from: days.from } : {}), ...(days.to ? { to: days.to } : {}) });
  return (
    <>
      <Select
        label={t.period}
        placeholder={any ?? t.any}
        data={isChosen && name === undefined ? [...names, { value: "chosen", label: t.chosen }] : names}
        value={name ?? (isChosen ? "chosen" : null)}
        onChange={(value) => {
          if (value === null) on({});
          else if (value !== "chosen") on(daySpan(value as DaySpanName, new Date()));
        }}
        clearable
        w={{ base: "100%", xs: 150 }}
      />
      <Group gap={10} wrap="nowrap" w={{ base: "100%", xs: "auto" }}>
        <Day label={t.from} value={from} max={to} on={(value) => of({ from: value, to })} />
        <Day label={t.to} value={to} min={from} on={(value) => of({ from, to: value })} />
      </Group>
    </>
  );
}

export interface FieldProps {
  readonly label: string;
  /** width is in pixels, if the window is wide enough. */
  readonly width?: number;
  readonly value: string | undefined;
  readonly on: (value: string | null) => void;
  readonly disabled?: boolean;
  /** isShort is whether two such fields stand beside each other on a phone. */
  readonly isShort?: boolean;
}

/** onPhone is the width of a field on a phone. */
const onPhone = (isShort: boolean) => (isShort ? "calc(50% - 5px)" : "100%");

/** Picked also offers a value that is in the address but not in the list, such as a revoked key. */
export function Picked({
  label,
  all,
  data,
  value,
  on,
  disabled = false,
  width = 128,
  isShort = false,
}: FieldProps & { all: string; data: readonly Choice[] }) {
  const known = value === undefined || data.some((one) => one.value === value);
  return (
    <Select
      {...{ label, disabled, placeholder: all, value: value ?? null, onChange: on }}
      data={known ? [...data] : [...data, { value: value ?? "", label: value ?? "" }]}
      searchable
      clearable
      w={{ base: onPhone(isShort), xs: "auto" }}
      miw={{ base: 0, xs: width }}
    />
  );
}

/** useDraft keeps the text being typed separate from the applied value, which replaces it when it changes. */
function useDraft(value: string): [draft: string, setDraft: (draft: string) => void] {
  const [{ of, draft }, set] = useState({ of: value, draft: value });
  if (of !== value) set({ of: value, draft: value });
  return [of === value ? draft : value, (next) => set({ of: value, draft: next })];
}

/** Typed applies its text on Enter, or when it loses the focus. */
export function Typed({
  label,
  hint,
  value = "",
  on,
  disabled = false,
  width = 128,
  isShort = false,
}: FieldProps & { hint: string }) {
  const [draft, setDraft] = useDraft(value);
  const finish = () => {
    if (draft.trim() !== value) on(draft.trim());
  };
  return (
    <TextInput
      {...{ label, disabled, placeholder: hint, value: draft }}
      onChange={(event) => setDraft(event.currentTarget.value)}
      onBlur={finish}
      onKeyDown={(event) => event.key === "Enter" && finish()}
      w={{ base: onPhone(isShort), xs: width }}
    />
  );
}

/** Day ignores dates of the first centuries, which the field has while a year is being typed. */
function Day({ label, value = "", on, min, max }: FieldProps & { min?: string | undefined; max?: string | undefined }) {
  const [draft, setDraft] = useDraft(value);
  const change = (day: string) => {
    setDraft(day);
    if (day === "" || day >= "2000") on(day);
  };
  return (
    <TextInput
      type="date"
      {...{ label, value: draft, min, max }}
      onChange={(event) => change(event.currentTarget.value)}
      w={{ base: "calc(50% - 5px)", xs: 136 }}
      miw={0}
    />
  );
}
