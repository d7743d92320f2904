/** Legend names the colours of a chart, or of several that share them. Readers who cannot see the chart have its table. */
import { ColorSwatch, Group, Text } from "@mantine/core";
import text from "../parts/text.module.css";

interface Props {
  /** of are the series in their order; a colour is one of the theme's, as `indigo.6`. */
  readonly of: readonly { readonly name: string; readonly label: string; readonly color: string }[];
}

export function Legend({ of }: Props) {
  return (
    <Group gap="md" aria-hidden>
      {of.map(({ name, label, color }) => (
        <Group key={name} gap={6} wrap="nowrap" miw={0}>
          <ColorSwatch size={10} color={`var(--mantine-color-${color.replace(".", "-")})`} withShadow={false} />
          <Text size="sm" className={text.anywhere}>
            {label}
          </Text>
        </Group>
      ))}
    </Group>
  );
}
