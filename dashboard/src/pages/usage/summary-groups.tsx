/** The totals of each group of calls as a table, the first ones until the reader asks for all; and all of them as a file. */
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { Button, Group, Text } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { useState } from "react";
import type { RequestTotals } from "../../../../gen/modelgateway/v1/usage_pb.ts";
import { GroupTable } from "../../charts/group-table.tsx";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { download } from "../../parts/download.ts";
import { useSession } from "../../session.tsx";
import { totalsCsv } from "./totals-csv.ts";

const said = texts(
  {
    export: "Export totals",
    all: (count: string) => `Show all ${count}`,
    fewer: "Show fewer",
    most: "Only the 100 groups with the greatest spend are listed and exported.",
  },
  {
    export: "导出合计",
    all: (count: string) => `显示全部 ${count} 项`,
    fewer: "收起",
    most: "仅列出并导出消费最高的 100 项。",
  },
);

const shownGroups = 10;
/** mostGroups is how many groups the gateway sums at most: the others are in the total alone. */
const mostGroups = 100;

interface Props {
  readonly of: readonly RequestTotals[];
  /** head is the heading of the groups, and `by` its word in the file. */
  readonly head: string;
  readonly by: string;
  readonly nameOf: (group: string) => string;
  /** The calls are of the time from `from` to `to`. */
  readonly from: Timestamp;
  readonly to: Timestamp;
  /** isOfBefore is whether the totals are still of the last choice, while those of the new one are asked for. */
  readonly isOfBefore: boolean;
}

export function SummaryGroups({ of, head, by, nameOf, from, to, isOfBefore }: Props) {
  const t = useTexts(said);
  const format = useFormat();
  const { unit } = useSession();
  const [all, setAll] = useState(false);
  const write = () => {
    const csv = totalsCsv({ groups: of, by, nameOf, from, to, unit: unit.code });
    download(new Blob([csv], { type: "text/csv;charset=utf-8" }), `totals-by-${by}.csv`);
  };
  return (
    <>
      {of.length > 1 && <GroupTable of={all ? of : of.slice(0, shownGroups)} head={head} nameOf={nameOf} flush />}
      {of.length >= mostGroups && (
        <Text size="xs" c="dimmed">
          {t.most}
        </Text>
      )}
      <Group gap="xs">
        {of.length > shownGroups && (
          <Button variant="subtle" size="xs" onClick={() => setAll(!all)}>
            {all ? t.fewer : t.all(format.count(of.length))}
          </Button>
        )}
        <Button
          variant="default"
          size="xs"
          leftSection={<IconDownload size={14} aria-hidden />}
          onClick={write}
          disabled={isOfBefore}
        >
          {t.export}
        </Button>
      </Group>
    </>
  );
}
