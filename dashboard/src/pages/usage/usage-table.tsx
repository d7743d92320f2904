/** A call's usage, in the parts that are charged separately and are not 0, and whether it is an estimate. */
import { Table, Text } from "@mantine/core";
import type { Request } from "../../../../gen/modelgateway/v1/usage_pb.ts";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import wide from "../../parts/wide-table.module.css";

const said = texts(
  {
    part: "Part",
    count: "Count",
    input: "Input tokens",
    inputIs: "Neither read from nor written to a prompt cache.",
    cacheRead: "Cache read tokens",
    cacheReadIs: "Input read from a prompt cache.",
    cacheWrite: "Cache write tokens",
    cacheWriteIs: "Input written to a prompt cache.",
    output: "Output tokens",
    outputIs: "What the model wrote, reasoning in it.",
    reasoning: "of which reasoning",
    reasoningIs: "Contained in the output.",
    characters: "Characters",
    charactersIs: "Of the text that was spoken.",
    cacheWriteHour: "of which kept longer",
    cacheWriteHourIs: "Contained in the cache writes.",
    estimated: "Estimated by the gateway: the upstream reported no usage.",
    implausible: "Counted by the gateway: what the upstream reported cannot be true.",
    told: "As the upstream reported it.",
    nothing: "Nothing.",
  },
  {
    part: "部分",
    count: "数量",
    input: "输入 Token",
    inputIs: "未读取也未写入提示缓存的输入。",
    cacheRead: "缓存读取 Token",
    cacheReadIs: "从提示缓存读取的输入。",
    cacheWrite: "缓存写入 Token",
    cacheWriteIs: "写入提示缓存的输入。",
    output: "输出 Token",
    outputIs: "模型生成的内容，包括推理。",
    reasoning: "其中推理",
    reasoningIs: "已包含在输出中。",
    characters: "字符",
    charactersIs: "合成语音的文本。",
    cacheWriteHour: "其中长时缓存",
    cacheWriteHourIs: "已包含在缓存写入中。",
    estimated: "由网关估算：上游未报告用量。",
    implausible: "由网关计数：上游报告的用量不可能属实。",
    told: "由上游报告。",
    nothing: "无。",
  },
);

interface Props {
  readonly request: Request;
  readonly label: string;
}

export function UsageTable({ request: { usage, estimated, implausible }, label }: Props) {
  const t = useTexts(said);
  const format = useFormat();
  const rows = [
    [t.input, t.inputIs, usage?.inputTokens],
    [t.cacheRead, t.cacheReadIs, usage?.cacheReadTokens],
    [t.cacheWrite, t.cacheWriteIs, usage?.cacheWriteTokens],
    [t.cacheWriteHour, t.cacheWriteHourIs, usage?.cacheWriteHourTokens],
    [t.output, t.outputIs, usage?.outputTokens],
    [t.reasoning, t.reasoningIs, usage?.reasoningTokens],
    [t.characters, t.charactersIs, usage?.characters],
  ] as const;
  const used = rows.filter(([, , count = 0n]) => count > 0n);
  const note = implausible ? t.implausible : estimated ? t.estimated : t.told;
  if (used.length === 0) return <Text size="sm">{t.nothing}</Text>;
  return (
    <>
      <Table aria-label={label} fz="sm" className={wide.flush ?? ""}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col">{t.part}</Table.Th>
            <Table.Th scope="col" ta="right">
              {t.count}
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {used.map(([part, is, count = 0n]) => (
            <Table.Tr key={part}>
              <Table.Th
                scope="row"
                fw={400}
                {...(part === t.reasoning || part === t.cacheWriteHour ? { style: { paddingInlineStart: 24 } } : {})}
              >
                {part}
                <Text size="xs" c="dimmed">
                  {is}
                </Text>
              </Table.Th>
              <Table.Td ta="right" style={{ fontVariantNumeric: "tabular-nums" }}>
                {format.count(count)}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      <Text size="xs" c="dimmed">
        {note}
      </Text>
    </>
  );
}
