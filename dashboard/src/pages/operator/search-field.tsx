/** A search field that searches shortly after the last key stroke. */
import { CloseButton, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconSearch } from "@tabler/icons-react";
import { useState } from "react";
import { texts, useTexts } from "../../language/language.tsx";

const said = texts({ clear: "Clear the search" }, { clear: "清除搜索" });

/** useSearch returns the text to search for, and the field's props. `initial` is what is searched for at first. */
export function useSearch(initial = "") {
  const [text, setText] = useState(initial);
  const [search] = useDebouncedValue(text.trim(), 250);
  return { search, field: { text, setText } };
}

interface Props {
  readonly of: ReturnType<typeof useSearch>["field"];
  readonly label: string;
  readonly hint: string;
}

export function SearchField({ of: { text, setText }, label, hint }: Props) {
  const t = useTexts(said);
  return (
    <TextInput
      role="searchbox"
      aria-label={label}
      placeholder={hint}
      maw={360}
      maxLength={200}
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
      leftSection={<IconSearch size={16} aria-hidden />}
      rightSection={text && <CloseButton size="sm" aria-label={t.clear} onClick={() => setText("")} />}
    />
  );
}
