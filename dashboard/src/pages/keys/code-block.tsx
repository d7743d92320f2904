/** Code to copy. It scrolls within itself, also by the keyboard. */
import { Box, Code } from "@mantine/core";
import { Copy } from "../../parts/copy.tsx";

interface Props {
  readonly code: string;
  /** what names the code, such as "command". */
  readonly what: string;
}

export function CodeBlock({ code, what }: Props) {
  return (
    <Box pos="relative">
      <Code block tabIndex={0} role="region" aria-label={what} pr={48}>
        {code}
      </Code>
      <Box
        pos="absolute"
        top={4}
        right={4}
        bg="light-dark(var(--mantine-color-gray-0), var(--mantine-color-dark-6))"
        bdrs="sm"
      >
        <Copy value={code} what={what} />
      </Box>
    </Box>
  );
}
