/** Shows where a model's calls go now: its targets in their order, and which are left alone. */
import { Anchor, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ModelTarget } from "../../../../gen/modelgateway/v1/measures_pb.ts";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { ColumnList, type ListColumn } from "../../parts/column-list.tsx";
import { Section } from "../../parts/section.tsx";
import text from "../../parts/text.module.css";

const said = texts(
  {
    title: "Where its calls go",
    upstream: "Upstream",
    model: "Name there",
    level: "Priority",
    share: "Share of the level",
    state: "State",
    served: "Gets calls",
    resting: (time: string) => `Left alone for ${time}, because it kept failing`,
  },
  {
    title: "调用的去向",
    upstream: "上游",
    model: "在上游的名称",
    level: "优先级",
    share: "同级占比",
    state: "状态",
    served: "接收调用",
    resting: (time: string) => `因连续失败暂停使用，${time}后恢复`,
  },
);

export function TargetStates({ of }: { readonly of: readonly ModelTarget[] }) {
  const t = useTexts(said);
  const format = useFormat();
  const weightOf = (priority: number) =>
    of.filter((one) => one.priority === priority).reduce((sum, { weight }) => sum + weight, 0);
  const sorted = [...of].sort((one, other) => one.priority - other.priority);
  const columns: readonly ListColumn<ModelTarget>[] = [
    {
      ...{ name: "upstream", head: t.upstream, isHeadline: true, isName: true },
      cell: ({ upstream }) => (
        <Anchor component={Link} to="/operator/upstreams/$upstream" params={{ upstream } as never} size="sm">
          {upstream}
        </Anchor>
      ),
    },
    {
      ...{ name: "model", head: t.model, isName: true },
      cell: ({ model }) => (
        <Text span size="sm" ff="monospace" className={text.anywhere}>
          {model}
        </Text>
      ),
    },
    { name: "level", head: t.level, numeric: true, cell: ({ priority }) => format.count(priority) },
    {
      ...{ name: "share", head: t.share, numeric: true },
      cell: ({ priority, weight }) => format.percent(weight / weightOf(priority)),
    },
    {
      ...{ name: "state", head: t.state },
      cell: ({ restingMs }) => (restingMs > 0 ? t.resting(format.duration(restingMs)) : t.served),
    },
  ];
  const idOf = ({ upstream, model }: ModelTarget) => `${upstream} ${model}`;
  return (
    <Section title={t.title}>
      <ColumnList label={t.title} entries={sorted} columns={columns} idOf={idOf} minWidth={480} flush />
    </Section>
  );
}
