/** The product's name and logo. */
import { Group, Text } from "@mantine/core";

interface Props {
  /** brief is whether a phone shows the logo alone, beside much else. */
  readonly brief?: boolean;
}

export function Mark({ brief = false }: Props) {
  return (
    <Group gap="xs" wrap="nowrap">
      <img src="/dashboard/icon.svg" width={24} height={24} alt="" title="model-gateway" />
      <Text fw={600} {...(brief ? { visibleFrom: "xs" } : {})} style={{ whiteSpace: "nowrap" }}>
        model-gateway
      </Text>
    </Group>
  );
}
