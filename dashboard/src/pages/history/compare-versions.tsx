/** Compares two versions of the configuration. */
import { useQuery } from "@connectrpc/connect-query";
import { Group, NumberInput } from "@mantine/core";
import { useState } from "react";
import { OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { DifferenceList } from "../../configuration/difference-list.tsx";
import { texts, useTexts } from "../../language/language.tsx";
import { Answer } from "../../parts/answer.tsx";
import { Section } from "../../parts/section.tsx";

const said = texts(
  {
    title: "Compare two versions",
    about: "0 is the empty one, from before the first.",
    from: "From version",
    to: "To version",
  },
  { title: "比较两个版本", about: "0 为第一个版本之前的空配置。", from: "起始版本", to: "目标版本" },
);

export function CompareVersions({ newest }: { readonly newest: number }) {
  const t = useTexts(said);
  const [from, setFrom] = useState<number>();
  const [to, setTo] = useState<number>();
  const [first, second] = [from ?? newest - 1, to ?? newest];
  const compared = useQuery(
    OperatorService.method.compareConfigurations,
    { from: first, to: second },
    { staleTime: Number.POSITIVE_INFINITY, retry: false },
  );
  const set = (change: (version: number) => void) => (value: string | number) => {
    if (typeof value === "number") change(value);
  };
  return (
    <Section title={t.title} about={t.about}>
      <Group gap="sm" align="flex-end">
        <NumberInput label={t.from} min={0} max={newest} value={first} onChange={set(setFrom)} w={140} />
        <NumberInput label={t.to} min={0} max={newest} value={second} onChange={set(setTo)} w={140} />
      </Group>
      <Answer of={compared} lines={3}>
        {({ differences }) => <DifferenceList of={differences} />}
      </Answer>
    </Section>
  );
}
