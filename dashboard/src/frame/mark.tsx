/** The product's name and logo. */
import { Group, Text } from "@mantine/core";

export function Mark() {
  return (
    <Group gap="xs" wrap="nowrap">
      <img src="/dashboard/icon.svg" width={24} height={24} alt="" />
      <Text fw={600} style={{ whiteSpace: "nowrap" }}>
        model-gateway
      </Text>
    </Group>
  );
}
