/** One fact in a list (`dl`): its name, and below it its value. */
import { Text } from "@mantine/core";
import type { ReactNode } from "react";
import classes from "./figure.module.css";

interface Props {
  readonly name: string;
  readonly className?: string | undefined;
  readonly children: ReactNode;
}

export function Fact({ name, className, children }: Props) {
  return (
    <div className={className}>
      <Text component="dt" size="xs" c="dimmed">
        {name}
      </Text>
      <Text component="dd" size="sm" m={0} className={classes.value}>
        {children}
      </Text>
    </div>
  );
}

/** KeyFact is a key's name, or its id, which is set smaller, so that it keeps to one line. */
export function KeyFact({ id, name }: { readonly id: string; readonly name: string | undefined }) {
  if (name !== undefined) return <span title={id}>{name}</span>;
  return (
    <Text span size="xs">
      {id}
    </Text>
  );
}
