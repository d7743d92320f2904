/** Chooses how far back a page looks. */
import { SegmentedControl } from "@mantine/core";
import { type SpanName, spanNames } from "../../charts/span.ts";
import { texts, useTexts } from "../../language/language.tsx";

const said = texts(
  { span: "Time", day: "24 hours", week: "7 days", month: "30 days" },
  { span: "时段", day: "24 小时", week: "7 天", month: "30 天" },
);

interface Props {
  readonly value: SpanName;
  readonly onChange: (value: SpanName) => void;
}

export function SpanControl({ value, onChange }: Props) {
  const t = useTexts(said);
  return (
    <SegmentedControl
      aria-label={t.span}
      data={spanNames.map((name) => ({ value: name, label: t[name] }))}
      value={value}
      onChange={onChange}
    />
  );
}
