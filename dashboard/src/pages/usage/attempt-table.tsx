/** Which upstreams were asked for one call, in order, and how each fared: those that failed, and the last. */
import { Table, Text } from "@mantine/core";
import { Outcome, type Request } from "../../../../gen/modelgateway/v1/usage_pb.ts";
import { useFormat } from "../../language/format.ts";
import { useWords, words } from "../../language/language.tsx";
import { OutcomeMark } from "../../parts/outcome.tsx";
import { WideTable } from "../../parts/wide-table.tsx";

const said = words(
  {
    asked: "Upstreams that were asked",
    upstream: "Upstream",
    outcome: "Outcome",
    firstByte: "First byte",
    duration: "Duration",
  },
  { asked: "调用过的上游", upstream: "上游", outcome: "结果", firstByte: "首字节", duration: "耗时" },
);

export function AttemptTable({
  request: { upstream, outcome, firstByteMs, durationMs, tried },
}: {
  readonly request: Request;
}) {
  const t = useWords(said);
  const format = useFormat();
  return (
    <WideTable label={t.asked} minWidth={360}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th scope="col">{t.upstream}</Table.Th>
          <Table.Th scope="col">{t.outcome}</Table.Th>
          <Table.Th scope="col" ta="right">
            {t.firstByte}
          </Table.Th>
          <Table.Th scope="col" ta="right">
            {t.duration}
          </Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {tried.map((attempt, place) => (
          <Table.Tr key={place}>
            <Table.Td>{attempt.upstream}</Table.Td>
            <Table.Td>
              <OutcomeMark of={Outcome.FAILED} />
              <Text size="xs" c="dimmed">
                {attempt.failure}
              </Text>
            </Table.Td>
            <Table.Td ta="right">–</Table.Td>
            <Table.Td ta="right">{format.duration(attempt.durationMs)}</Table.Td>
          </Table.Tr>
        ))}
        <Table.Tr>
          <Table.Td>{upstream || "–"}</Table.Td>
          <Table.Td>
            <OutcomeMark of={outcome} />
          </Table.Td>
          <Table.Td ta="right">{firstByteMs === undefined ? "–" : format.duration(firstByteMs)}</Table.Td>
          <Table.Td ta="right">{format.duration(durationMs)}</Table.Td>
        </Table.Tr>
      </Table.Tbody>
    </WideTable>
  );
}
