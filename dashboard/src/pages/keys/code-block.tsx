/** Code to copy. It scrolls within itself, also by the keyboard, beside the button that copies it. */
import { Box, Code, Group } from "@mantine/core";
import { Copy } from "../../parts/copy.tsx";
import classes from "./code-block.module.css";

interface Props {
  readonly code: string;
  /** what names the code, such as "command". */
  readonly what: string;
}

export function CodeBlock({ code, what }: Props) {
  return (
    <Group gap={0} wrap="nowrap" align="flex-start" className={classes.block}>
      <Code block tabIndex={0} role="region" aria-label={what} className={classes.code}>
        {code}
      </Code>
      <Box p={4}>
        <Copy value={code} what={what} />
      </Box>
    </Group>
  );
}
