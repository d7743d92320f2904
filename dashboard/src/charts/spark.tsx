/** A small line over time without axes, drawn as SVG; its title and its range say in words what it shows. */
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { Group, Text } from "@mantine/core";
import type { AttemptMeasures } from "../../../gen/modelgateway/v1/measures_pb.ts";
import { useJoin } from "../language/join.ts";
import { texts, useTexts } from "../language/language.tsx";
import type { Buckets } from "./span.ts";
import classes from "./spark.module.css";

const said = texts(
  { range: (least: string, most: string) => `${least} to ${most}` },
  { range: (least: string, most: string) => `${least} 至 ${most}` },
);

interface Props {
  readonly title: string;
  /** head is what a reader sees above it; undefined: where it stands says what it is. */
  readonly head?: string;
  readonly sums: readonly AttemptMeasures[];
  readonly buckets: Buckets;
  readonly of: (measures: AttemptMeasures) => number | undefined;
  readonly write: (value: number) => string;
}

const [width, height] = [240, 36];

export function Spark({ title, head, sums, buckets, of, write }: Props) {
  const t = useTexts(said);
  const join = useJoin();
  const at = new Map(sums.map((sum) => [sum.beginsAt ? timestampMs(sum.beginsAt) : 0, of(sum)]));
  const values = buckets.begins.map((begins) => at.get(begins));
  const known = values.filter((value) => value !== undefined);
  // One value is no line.
  if (known.length < 2) return null;
  const most = Math.max(...known);
  const range = t.range(write(Math.min(...known)), write(most));
  return (
    <div role="img" aria-label={join.labelled(title, range)} title={title}>
      {head && (
        <Text size="xs" c="dimmed" aria-hidden>
          {head}
        </Text>
      )}
      <Group gap="sm" wrap="nowrap">
        <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" className={classes.spark} aria-hidden>
          {runsOf(values).map((run) => (
            <polyline key={run[0]?.[0]} points={run.map((point) => pointOf(point, values.length, most)).join(" ")} />
          ))}
        </svg>
        <Text size="xs" c="dimmed" className={classes.range} aria-hidden>
          {range}
        </Text>
      </Group>
    </div>
  );
}

type Point = readonly [at: number, value: number];

/** runsOf returns the values that follow one another without a gap. A single one becomes a short line. */
function runsOf(values: readonly (number | undefined)[]): readonly (readonly Point[])[] {
  const runs: Point[][] = [];
  for (const [i, value] of values.entries()) {
    if (value === undefined) continue;
    const last = runs.at(-1);
    if (last && last.at(-1)?.[0] === i - 1) last.push([i, value]);
    else runs.push([[i, value]]);
  }
  return runs.map((run) =>
    run.length > 1
      ? run
      : run.flatMap(([i, value]): Point[] => [
          [i - 0.3, value],
          [i + 0.3, value],
        ]),
  );
}

function pointOf([at, value]: Point, count: number, most: number): string {
  const x = count > 1 ? (at / (count - 1)) * width : width / 2;
  const y = most > 0 ? height - 2 - (value / most) * (height - 4) : height / 2;
  return `${x.toFixed(1)},${y.toFixed(1)}`;
}
