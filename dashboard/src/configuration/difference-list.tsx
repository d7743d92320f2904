/** Lists in what two documents differ: each place with what was there and what is there now. */
import { Badge, Box, Code, Group, Stack, Text } from "@mantine/core";
import { type ConfigurationDifference, DifferenceKind } from "../../../gen/modelgateway/v1/configuration_pb.ts";
import { texts, useTexts } from "../language/language.tsx";
import { Breakable } from "../parts/breakable.tsx";
import text from "../parts/text.module.css";
import classes from "./difference-list.module.css";

const said = texts(
  {
    differences: "Differences",
    none: "No differences.",
    added: "Added",
    removed: "Removed",
    changed: "Changed",
    before: "Before",
    after: "After",
  },
  {
    differences: "差异",
    none: "没有差异。",
    added: "新增",
    removed: "删除",
    changed: "更改",
    before: "原值",
    after: "新值",
  },
);

const names: Partial<Record<DifferenceKind, "added" | "removed">> = {
  [DifferenceKind.ADDED]: "added",
  [DifferenceKind.REMOVED]: "removed",
};

export function DifferenceList({ of }: { readonly of: readonly ConfigurationDifference[] }) {
  const t = useTexts(said);
  if (of.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        {t.none}
      </Text>
    );
  }
  return (
    <Stack component="ul" gap="sm" aria-label={t.differences} className={text.list}>
      {of.map((difference) => (
        <OneDifference key={difference.path} of={difference} />
      ))}
    </Stack>
  );
}

function OneDifference({ of: { path, kind, before, after } }: { readonly of: ConfigurationDifference }) {
  const t = useTexts(said);
  return (
    <Box component="li">
      <Group gap="xs" mb={4}>
        <Badge variant="default" size="sm" tt="none" className={classes.kind}>
          {t[names[kind] ?? "changed"]}
        </Badge>
        <Text size="sm" ff="monospace" fw={500} className={text.anywhere}>
          <Breakable>{path}</Breakable>
        </Text>
      </Group>
      {before !== undefined && <Value title={t.before} sign="−" className={classes.before} of={before} />}
      {after !== undefined && <Value title={t.after} sign="+" className={classes.after} of={after} />}
    </Box>
  );
}

interface ValueProps {
  readonly title: string;
  readonly sign: string;
  readonly className: string | undefined;
  /** of is JSON. */
  readonly of: string;
}

function Value({ title, sign, className, of }: ValueProps) {
  return (
    <Code block className={`${classes.value} ${className}`} aria-label={title} role="group">
      <span aria-hidden>{sign} </span>
      {readable(of)}
    </Code>
  );
}

/** readable breaks long JSON into lines, and leaves texts without their quotes. */
function readable(json: string): string {
  try {
    const value: unknown = JSON.parse(json);
    if (typeof value === "string") return value;
    return json.length > 60 ? JSON.stringify(value, null, 2) : json;
  } catch {
    return json;
  }
}
