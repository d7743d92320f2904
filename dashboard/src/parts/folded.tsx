/** Folded is a part of a form that is closed until a reader opens it: most leave it as it is. */
import { Accordion } from "@mantine/core";
import type { ReactNode } from "react";

interface Props {
  readonly title: string;
  readonly children: ReactNode;
}

export function Folded({ title, children }: Props) {
  return (
    <Accordion variant="separated" chevronPosition="left">
      <Accordion.Item value="folded">
        <Accordion.Control>{title}</Accordion.Control>
        <Accordion.Panel>{children}</Accordion.Panel>
      </Accordion.Item>
    </Accordion>
  );
}
