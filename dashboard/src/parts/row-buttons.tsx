/** The buttons of lists in forms: one adds a row, and each row has one that removes it. */
import { ActionIcon, Button } from "@mantine/core";
import { IconPlus, IconTrash } from "@tabler/icons-react";

interface AddProps {
  /** children is the label, which has to be a text. */
  readonly children: string;
  readonly onClick: () => void;
  /** label names the button for readers of screens, where its own label says too little. */
  readonly label?: string;
}

export function AddRow({ children, onClick, label }: AddProps) {
  return (
    <Button
      variant="default"
      size="xs"
      w="fit-content"
      leftSection={<IconPlus size={14} aria-hidden />}
      aria-label={label}
      onClick={onClick}
    >
      {children}
    </Button>
  );
}

interface RemoveProps {
  /** label says what is removed. */
  readonly label: string;
  readonly onClick: () => void;
  /** mt is the space above, where the row has labels above its fields. */
  readonly mt?: number | string;
}

export function RemoveRow({ label, onClick, mt = 0 }: RemoveProps) {
  return (
    <ActionIcon variant="subtle" color="gray" size="lg" mt={mt} aria-label={label} title={label} onClick={onClick}>
      <IconTrash size={16} aria-hidden />
    </ActionIcon>
  );
}
