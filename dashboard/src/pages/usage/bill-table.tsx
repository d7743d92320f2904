/** The lines of a call's bill: what was counted, times the rate that was in force when the call ended; and their sum, the cost. */
import { Group, Stack, Table, Text } from "@mantine/core";
import type { Charge, Request } from "../../../../gen/modelgateway/v1/usage_pb.ts";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import text from "../../parts/text.module.css";
import { WideTable } from "../../parts/wide-table.tsx";

const said = texts(
  {
    part: "Part",
    count: "Count",
    rate: "Price",
    amount: "Amount",
    sum: "Cost",
    waived: "of which not charged",
    unknown:
      "The price of this call is not known: it is of an older version, its model has no price, or it was not charged.",
    exact: "All lines are added up exactly, and rounded up once to a millionth.",
    perMillion: (rate: string) => `${rate} a million`,
    each: (rate: string) => `${rate} each`,
    share: (percent: string) => `${percent} of it`,
    times: (factor: string) => `, times ${factor}`,
    mode: (mode: string) => `Service: ${mode}.`,
    input: "Input tokens",
    inputAudio: "Audio tokens of the input",
    inputImage: "Image tokens of the input",
    cacheRead: "Cache read tokens",
    cacheWrite: "Cache write tokens, for minutes",
    cacheWriteHour: "Cache write tokens, kept longer",
    output: "Output tokens",
    outputAudio: "Audio tokens of the output",
    characters: "Characters",
    search: "Web searches",
    request: "Requests to the upstream",
    firstCost: "What the answer cost at first",
  },
  {
    part: "项目",
    count: "数量",
    rate: "单价",
    amount: "金额",
    sum: "费用",
    waived: "其中未收取",
    unknown: "无法得知此调用的价格：它来自旧版本、其模型没有价格，或未收费。",
    exact: "各行精确相加，最后一次性向上取整到百万分之一。",
    perMillion: (rate: string) => `每百万 ${rate}`,
    each: (rate: string) => `每次 ${rate}`,
    share: (percent: string) => `其中的 ${percent}`,
    times: (factor: string) => `，乘以 ${factor}`,
    mode: (mode: string) => `服务方式：${mode}。`,
    input: "输入 Token",
    inputAudio: "输入中的音频 Token",
    inputImage: "输入中的图像 Token",
    cacheRead: "缓存读取 Token",
    cacheWrite: "缓存写入 Token（数分钟）",
    cacheWriteHour: "缓存写入 Token（长时）",
    output: "输出 Token",
    outputAudio: "输出中的音频 Token",
    characters: "字符",
    search: "网络搜索",
    request: "对上游的请求",
    firstCost: "该回答最初的费用",
  },
);

/** The texts of the kinds. */
const kinds = new Map([
  ["input", "input"],
  ["input_audio", "inputAudio"],
  ["input_image", "inputImage"],
  ["cache_read", "cacheRead"],
  ["cache_write", "cacheWrite"],
  ["cache_write_hour", "cacheWriteHour"],
  ["output", "output"],
  ["output_audio", "outputAudio"],
  ["characters", "characters"],
  ["search", "search"],
  ["request", "request"],
  ["share", "firstCost"],
] as const);

type Kind = Parameters<typeof kinds.get>[0];

/** The kinds that are charged each, and not by the million. */
const single: ReadonlySet<string> = new Set(["search", "request"]);
const millionths = 1_000_000;

interface Props {
  readonly charges: readonly Charge[];
  readonly request: Pick<Request, "cost" | "waived">;
  readonly label: string;
}

/** amountOf returns the amount of a line in millionths of the unit, rounded to the nearest; the sum is of the exact ones. */
function amountOf({ kind, count, rate, factor }: Charge): bigint {
  const million = BigInt(millionths);
  if (kind === "share") return divided(count * rate, million);
  return divided(count * rate * factor, single.has(kind) ? million : million * million);
}

function divided(of: bigint, by: bigint): bigint {
  return (of + by / 2n) / by;
}

export function BillTable({ charges, request: { cost, waived }, label }: Props) {
  const t = useTexts(said);
  const format = useFormat();
  const rateOf = ({ kind, rate, factor }: Charge) => {
    const times = factor === BigInt(millionths) ? "" : t.times(String(Number(factor) / millionths));
    if (kind === "share") return t.share(`${Number(rate) / 10_000} %`);
    return (single.has(kind) ? t.each : t.perMillion)(format.money(rate)) + times;
  };
  const nameOf = (kind: string) => {
    const name = kinds.get(kind as Kind);
    return name === undefined ? kind : t[name];
  };
  if (charges.length === 0) return <Text size="sm">{t.unknown}</Text>;
  const modes = [...new Set(charges.map(({ mode }) => mode).filter((mode) => mode !== ""))];
  const lines = charges.map((charge) => ({
    ...{ key: `${charge.priceId} ${charge.kind}`, name: nameOf(charge.kind), rate: rateOf(charge) },
    count: charge.kind === "share" ? format.money(charge.count) : format.count(charge.count),
    amount: amountOf(charge),
  }));
  const shown = { lines, sum: cost + waived, waived };
  return (
    <>
      <Rows {...shown} label={label} />
      <Text size="xs" c="dimmed">
        {[...modes.map(t.mode), t.exact].join(" ")}
      </Text>
    </>
  );
}

interface LinesProps {
  readonly lines: readonly {
    readonly key: string;
    readonly name: string;
    readonly count: string;
    readonly rate: string;
    readonly amount: bigint;
  }[];
  readonly sum: bigint;
  readonly waived: bigint;
}

function Rows({ label, ...shown }: LinesProps & { readonly label: string }) {
  const { lines, sum, waived } = shown;
  const t = useTexts(said);
  const format = useFormat();
  return (
    <WideTable label={label} minWidth={400} cards={<Lines {...shown} />} flush fz="sm" horizontalSpacing={8}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th scope="col">{t.part}</Table.Th>
          <Table.Th scope="col" ta="right">
            {t.count}
          </Table.Th>
          <Table.Th scope="col" ta="right">
            {t.rate}
          </Table.Th>
          <Table.Th scope="col" ta="right">
            {t.amount}
          </Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {lines.map(({ key, name, count, rate, amount }) => (
          <Table.Tr key={key}>
            <Table.Th scope="row" fw={400}>
              {name}
            </Table.Th>
            <Table.Td className={text.number}>{count}</Table.Td>
            <Table.Td className={text.number}>× {rate}</Table.Td>
            <Table.Td className={text.number}>= {format.money(amount)}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
      <Table.Tfoot>
        <Table.Tr>
          <Table.Th scope="row" colSpan={3}>
            {t.sum}
          </Table.Th>
          <Table.Td className={text.number} fw={600}>
            {format.money(sum)}
          </Table.Td>
        </Table.Tr>
        {waived > 0n && (
          <Table.Tr>
            <Table.Th scope="row" colSpan={3} fw={400}>
              {t.waived}
            </Table.Th>
            <Table.Td className={text.number}>{format.money(waived)}</Table.Td>
          </Table.Tr>
        )}
      </Table.Tfoot>
    </WideTable>
  );
}

function Lines({ lines, sum, waived }: LinesProps) {
  const t = useTexts(said);
  const format = useFormat();
  const line = (name: string, amount: bigint) => (
    <Group justify="space-between" wrap="nowrap" gap="xs">
      <span>{name}</span>
      <span className={text.number}>{format.money(amount)}</span>
    </Group>
  );
  return (
    <Stack component="ul" gap="sm" fz="sm" className={text.list}>
      {lines.map(({ key, name, count, rate, amount }) => (
        <li key={key}>
          {line(name, amount)}
          <Text size="xs" c="dimmed">
            {count} × {rate}
          </Text>
        </li>
      ))}
      <Text component="li" size="sm" fw={600}>
        {line(t.sum, sum)}
      </Text>
      {waived > 0n && <li>{line(t.waived, waived)}</li>}
    </Stack>
  );
}
