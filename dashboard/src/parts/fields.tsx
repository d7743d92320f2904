/** Fields stand beside one another in a form: their labels, their inputs and what is said below them begin in the same lines. */
import { SimpleGrid, type SimpleGridProps } from "@mantine/core";
import classes from "./fields.module.css";

/** labelHeight is the space above what stands beside a field and has no label of its own. */
export const labelHeight = "calc(var(--mantine-font-size-sm) * var(--mantine-line-height))";

export function Fields(props: SimpleGridProps) {
  return <SimpleGrid className={classes.fields ?? ""} {...props} />;
}
