/** SearchInput is a field for a text that a list on the page is searched for, at each key stroke. */
import { TextInput, type TextInputProps } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";

interface Props extends Pick<TextInputProps, "w" | "maw"> {
  readonly label: string;
  readonly hint: string;
  readonly value: string;
  readonly onChange: (text: string) => void;
}

export function SearchInput({ hint, onChange, ...props }: Props) {
  return (
    <TextInput
      type="search"
      placeholder={hint}
      leftSection={<IconSearch size={16} aria-hidden />}
      onChange={(event) => onChange(event.currentTarget.value)}
      {...props}
    />
  );
}
