/** Shows where a model's calls go now: its targets in their order, and which are left alone. */
import { Anchor, Table, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ModelTarget } from "../../../../gen/modelgateway/v1/measures_pb.ts";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Section } from "../../parts/section.tsx";
import text from "../../parts/text.module.css";
import { WideTable } from "../../parts/wide-table.tsx";

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
  return (
    <Section title={t.title}>
      <WideTable label={t.title} minWidth={480} flush>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t.upstream}</Table.Th>
            <Table.Th>{t.model}</Table.Th>
            <Table.Th className={text.number}>{t.level}</Table.Th>
            <Table.Th className={text.number}>{t.share}</Table.Th>
            <Table.Th>{t.state}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {sorted.map(({ upstream, model, priority, weight, restingMs }) => (
            <Table.Tr key={`${upstream} ${model}`}>
              <Table.Td className={text.anywhere}>
                <Anchor component={Link} to="/operator/upstreams/$upstream" params={{ upstream } as never} size="sm">
                  {upstream}
                </Anchor>
              </Table.Td>
              <Table.Td className={text.anywhere}>
                <Text span size="sm" ff="monospace">
                  {model}
                </Text>
              </Table.Td>
              <Table.Td className={text.number}>{format.count(priority)}</Table.Td>
              <Table.Td className={text.number}>{format.percent(weight / weightOf(priority))}</Table.Td>
              <Table.Td>{restingMs > 0 ? t.resting(format.duration(restingMs)) : t.served}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </WideTable>
    </Section>
  );
}
